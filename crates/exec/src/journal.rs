//! Records of running jobs, from which the next start of the program completes the clean-up after a crash.
//!
//! A record is written before a command starts and removed after the clean-up. The program that wrote it
//! holds a lock on it, which the system releases however the program ends.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::launcher::run_tag;
use crate::os_text::{os_path, os_words};
use crate::protect::after;
use crate::protect::entry::ProtectedEntry;
use crate::protect::put_back::put_back;
use crate::protect::writable::WritableGrant;
use crate::scratch;
use crate::verified_path::VerifiedPath;
use repertoire::regular_file;

/// The directory of records, in the state directory.
const DIRECTORY: &str = "running";
/// The extension of a complete record.
const EXTENSION: &str = "json";
/// The largest record that is read, in bytes.
const MAX_RECORD: u64 = 256 << 20;

pub(crate) fn directory(state: &Path) -> PathBuf {
    state.join(DIRECTORY)
}

/// The result of [`finish_interrupted_runs`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterruptedRuns {
    /// Files that commands had created under protected names, by the paths they were renamed to.
    pub renamed: Vec<PathBuf>,
    /// Paths that could not be checked or renamed.
    pub unchecked: Vec<PathBuf>,
}

/// A record of a running job. It is removed when this is dropped.
///
/// A thread renews the time of its last change, which tells when the program was killed.
#[derive(Debug)]
pub(crate) struct JobJournal {
    path: PathBuf,
    _lock: File,
    /// The thread, which ends when its channel is closed.
    renewal: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The time between two renewals.
const RENEWAL: Duration = Duration::from_secs(1);
/// The longest that a command outlives the last renewal of a program that was killed.
const MAX_OUTLIVED: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize, Deserialize)]
struct JobRecord {
    /// The tag of all its processes.
    tag: u64,
    /// The time at which the command has ended at the latest.
    ended: SystemTime,
    #[serde(with = "os_path")]
    scratch: PathBuf,
    granted: Vec<GrantRecord>,
    /// The time before which it had not begun.
    began: SystemTime,
    git: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct GrantRecord {
    pinned: VerifiedPath,
    protected: Vec<ProtectedEntry>,
    #[serde(with = "os_words")]
    also_protected: Vec<OsString>,
}

impl JobJournal {
    /// Writes the record of a job with `tag` that takes at most `time`, in the directory of records.
    pub(crate) fn write(
        directory: &Path,
        tag: u64,
        time: Duration,
        scratch: &Path,
        granted: &[WritableGrant],
        git: Option<&Path>,
    ) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let grant = |grant: &WritableGrant| GrantRecord {
            pinned: grant.pinned.clone(),
            protected: grant.protected.values().cloned().collect(),
            also_protected: grant.also_protected.iter().map(|path| path.clone().into_os_string()).collect(),
        };
        let record = JobRecord {
            tag,
            ended: SystemTime::now() + time,
            scratch: scratch.to_owned(),
            granted: granted.iter().map(grant).collect(),
            began: SystemTime::now(),
            git: git.map(Path::to_owned),
        };
        let unfinished = directory.join(format!("{tag:x}"));
        let path = unfinished.with_extension(EXTENSION);
        let mut file = File::create_new(&unfinished)?;
        let written = file
            .lock()
            .and_then(|()| file.write_all(&serde_json::to_vec(&record)?))
            .and_then(|()| fs::rename(&unfinished, &path));
        if let Err(error) = written {
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        let (renewal, ended) = mpsc::channel();
        let renewed = file.try_clone()?;
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                // Without it, the command is taken to have lasted as long as it may.
                let _ = renewed.set_modified(SystemTime::now());
            }
        });
        Ok(Self { path, _lock: file, renewal: Some((renewal, thread)) })
    }
}

impl Drop for JobJournal {
    fn drop(&mut self) {
        if let Some((channel, thread)) = self.renewal.take() {
            drop(channel);
            let _ = thread.join();
        }
        let _ = fs::remove_file(&self.path);
    }
}

/// Cleans up after runs whose program was killed: ends remaining processes, renames files that commands
/// created under protected names, and removes scratch directories. `state` is the state directory.
///
/// A program calls it when it starts. Files that were made after the program was killed are left alone.
pub fn finish_interrupted_runs(state: &Path) -> InterruptedRuns {
    let mut found = InterruptedRuns::default();
    for entry in fs::read_dir(directory(state)).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        // A pipe would block.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = File::open(&path) else { continue };
        // A program that still runs holds the lock.
        if file.try_lock().is_err() {
            continue;
        }
        let record = regular_file::read(&path, MAX_RECORD).ok();
        let renewed = file.metadata().and_then(|metadata| metadata.modified());
        match record.and_then(|text| serde_json::from_slice::<JobRecord>(&text).ok()) {
            Some(mut record) => {
                if let Ok(renewed) = renewed {
                    record.ended = record.ended.min(renewed + MAX_OUTLIVED);
                }
                record.finish(&mut found);
            }
            None => found.unchecked.push(path.clone()),
        }
        let _ = fs::remove_file(&path);
    }
    found
}

impl JobRecord {
    fn finish(self, found: &mut InterruptedRuns) {
        run_tag::kill_tagged(self.tag);
        let grant = |grant: GrantRecord| {
            let protected =
                grant.protected.into_iter().map(|entry| (entry.pinned.path.clone(), entry)).collect();
            WritableGrant::new(
                grant.pinned,
                protected,
                grant.also_protected.into_iter().map(PathBuf::from).collect(),
            )
        };
        let granted: Vec<WritableGrant> = self.granted.into_iter().map(grant).collect();
        let renames = after::sweep_late(&granted, self.ended);
        found.renamed.extend(put_back(self.git.as_deref(), self.began, &renames.refused).refused);
        found.unchecked.extend(renames.left);
        // Its launcher has usually removed it.
        let _ = scratch::remove(&self.scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protect::writable::tests::{granted, project};

    #[test]
    fn pipes_are_skipped_and_unreadable_records_are_reported_once() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};

        let state = tempfile::tempdir().unwrap();
        let running = directory(state.path());
        fs::create_dir_all(&running).unwrap();
        mknodat(CWD, running.join("pipe.json"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        fs::write(running.join("torn.json"), "{").unwrap();
        assert_eq!(finish_interrupted_runs(state.path()).unchecked, [running.join("torn.json")]);
        assert!(finish_interrupted_runs(state.path()).unchecked.is_empty());
    }

    #[test]
    fn the_next_start_completes_the_clean_up_of_a_killed_program() {
        let (_directory, root) = project();
        let state = tempfile::tempdir().unwrap();
        let all = granted(&root, &root).unwrap();
        let scratch = state.path().join("scratch");
        fs::create_dir_all(scratch.join("work")).unwrap();
        let write = || {
            let time = Duration::from_secs(60);
            JobJournal::write(
                &directory(state.path()),
                run_tag::fresh(),
                time,
                &scratch,
                std::slice::from_ref(&all),
                None,
            )
            .unwrap()
        };
        let mut journal = write();
        fs::write(root.join("src/CLAUDE.md"), "obey").unwrap();
        fs::write(root.join("docs/AGENTS.md"), "edited").unwrap();
        // The program still runs.
        assert_eq!(finish_interrupted_runs(state.path()), InterruptedRuns::default());
        // It is killed: the lock is released, and the record stays.
        journal.path = PathBuf::new();
        drop(journal);
        let found = finish_interrupted_runs(state.path());
        assert_eq!(found.renamed, [root.join("src/CLAUDE.md.refused")]);
        assert!(root.join("docs/AGENTS.md").is_file() && !scratch.is_dir());
        assert_eq!(fs::read_dir(directory(state.path())).unwrap().count(), 0);
        // A file that the user made later is not the command's.
        let mut journal = write();
        let path = std::mem::take(&mut journal.path);
        drop(journal);
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        File::options().append(true).open(path).unwrap().set_modified(long_ago).unwrap();
        fs::write(root.join("src/GEMINI.md"), "mine").unwrap();
        assert_eq!(finish_interrupted_runs(state.path()), InterruptedRuns::default());
        assert!(root.join("src/GEMINI.md").is_file());
        // A program that ends well leaves no record.
        drop(write());
        assert_eq!(fs::read_dir(directory(state.path())).unwrap().count(), 0);
    }
}
