//! A directory that stands in for that of git, where a sandbox lets nothing be made or removed in the real one.
//!
//! Git can keep what belongs to one checkout (HEAD, the index, a merge under way) apart from what all share (objects, refs, settings, hooks): that is what a linked worktree is. So the command
//! gets such a directory of its own, in its scratch directory, and what it left there is carried over when nothing of it is left. The host does that, by git's own rules: under `index.lock`, and only if nobody else changed
//! anything meanwhile.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};

use crate::exec::git;
use crate::exec::git_index;
use crate::exec::outcome::Aftermath;
use crate::exec::pinned::{self, Pinned};
use crate::exec::repository::Repository;
use crate::exec::scratch::Scratch;
use crate::exec::{ExecError, ExecErrorKind};

/// What is carried over, the index last: whoever sees that sees the rest.
const CARRIED: &[&str] = &[
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "COMMIT_EDITMSG",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    INDEX,
];
const INDEX: &str = "index";
const LOCK: &str = "index.lock";
/// What is there to be read only.
const COPIED: &[&str] = &["config.worktree", "info/sparse-checkout"];
/// Where a part of an index may lie.
const SHARED_INDEX: &str = "sharedindex.";
/// The log of HEAD, to which is added.
const LOG: &str = "logs/HEAD";
/// The largest file that is carried over, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// A directory that stands in for that of git.
#[derive(Debug)]
pub(crate) struct StandIn {
    path: PathBuf,
    top: PathBuf,
    real: Pinned,
    /// What was there, in the order of [`CARRIED`].
    before: Vec<Option<Vec<u8>>>,
}

impl StandIn {
    /// Makes one in `scratch`.
    pub(crate) fn make(repository: &Repository, scratch: &Scratch) -> Result<Self, ExecError> {
        let refused = |text: &str| ExecError::new(ExecErrorKind::Repository).at(&repository.own).saying(text);
        if fs::symlink_metadata(repository.common.join("reftable")).is_ok() {
            return Err(refused("its refs are kept as reftable, which this sandbox cannot have written"));
        }
        let failed = |error| ExecError::new(ExecErrorKind::Repository).at(&repository.own).because(error);
        let real = Pinned::at(&repository.own).map_err(failed)?;
        let directory = real.open().map_err(failed)?;
        let path = scratch.path().join("git");
        fs::create_dir(&path).map_err(failed)?;
        let mut before = Vec::new();
        for name in CARRIED {
            let content = read(&directory, name).map_err(failed)?;
            if let Some(content) = &content {
                fs::write(path.join(name), content).map_err(failed)?;
            }
            before.push(content);
        }
        let shared = fs::read_dir(&repository.own).map_err(failed)?.flatten();
        let shared = shared.filter_map(|entry| entry.file_name().into_string().ok());
        let shared: Vec<String> = shared.filter(|name| name.starts_with(SHARED_INDEX)).collect();
        for name in COPIED.iter().copied().chain(shared.iter().map(String::as_str)) {
            if let Some(content) = read(&directory, name).map_err(failed)? {
                fs::create_dir_all(path.join(name).parent().unwrap_or(&path)).map_err(failed)?;
                fs::write(path.join(name), content).map_err(failed)?;
            }
        }
        // Where nothing was ever committed there is none yet, and the command could not make it.
        match fs::create_dir(repository.common.join("logs")) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        let mut common = repository.common.clone().into_os_string();
        common.push("\n");
        fs::write(path.join("commondir"), common.as_encoded_bytes()).map_err(failed)?;
        Ok(Self { path, top: repository.top.clone(), real, before })
    }

    /// Returns the variables by which git finds it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        [
            ("GIT_DIR", shown(&self.path)),
            ("GIT_WORK_TREE", shown(&self.top)),
            // An index in two parts could not be carried over as one.
            ("GIT_CONFIG_COUNT", "1".to_owned()),
            ("GIT_CONFIG_KEY_0", "core.splitIndex".to_owned()),
            ("GIT_CONFIG_VALUE_0", "false".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Carries over what the command left, once nothing of it runs any more.
    pub(crate) fn carry_over(&self) -> Option<Aftermath> {
        match self.try_carry_over() {
            Ok(true) => None,
            Ok(false) => Some(Aftermath::RepositoryChanged(self.real.path.clone())),
            Err(_) => Some(Aftermath::RepositoryNotWritten(self.real.path.clone())),
        }
    }

    /// Returns whether nobody else had changed anything.
    fn try_carry_over(&self) -> io::Result<bool> {
        let own = pinned::open(&self.path)?;
        let mut after = Vec::new();
        for name in CARRIED {
            after.push(read(&own, name)?);
        }
        let added = read(&own, LOG)?.unwrap_or_default();
        if after == self.before && added.is_empty() {
            return Ok(true);
        }
        if !after[0].as_deref().is_some_and(is_head) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (index, index_before) = (after.last(), self.before.last());
        let objects = git::objects_of(&self.real.path);
        let is_sound = |index: &Vec<u8>| git_index::is_sound(index, objects);
        if index != index_before && !index.and_then(Option::as_ref).is_none_or(is_sound) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let real = self.real.open()?;
        let lock = match create(&real, LOCK) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            lock => Lock { directory: &real, file: lock? },
        };
        for (name, before) in CARRIED.iter().zip(&self.before) {
            if read(&real, name)? != *before {
                return Ok(false);
            }
        }
        let changed =
            CARRIED.iter().zip(self.before.iter().zip(&after)).filter(|(_, (before, after))| before != after);
        let changed: Vec<(&&str, &Option<Vec<u8>>)> =
            changed.map(|(name, (_, after))| (name, after)).collect();
        for (name, after) in changed.iter().filter(|(name, _)| **name != INDEX) {
            put(&real, name, after.as_deref())?;
        }
        match changed.iter().find(|(name, _)| **name == INDEX) {
            Some((_, Some(index))) => lock.replace(index)?,
            Some((_, None)) => unlinkat(&real, INDEX, AtFlags::empty())?,
            None => {}
        }
        // Everything is there without it.
        if !added.is_empty() {
            let _ = append(&real, &added);
        }
        Ok(true)
    }
}

/// Returns whether this is something that git understands as its HEAD: without one it would look for a repository further up.
fn is_head(content: &[u8]) -> bool {
    let text = content.strip_suffix(b"\n").unwrap_or(content);
    let is_id = text.len() >= 40 && text.iter().all(u8::is_ascii_hexdigit);
    is_id || text.starts_with(b"ref: refs/") && !text.contains(&b'\n')
}

/// The lock of an index, given back in any case.
struct Lock<'a> {
    directory: &'a OwnedFd,
    file: fs::File,
}

impl Lock<'_> {
    /// Makes the lock the index, as git does.
    fn replace(self, content: &[u8]) -> io::Result<()> {
        (&self.file).write_all(content)?;
        Ok(renameat(self.directory, LOCK, self.directory, INDEX)?)
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        let is_ours = || -> rustix::io::Result<bool> {
            let there = rustix::fs::statat(self.directory, LOCK, AtFlags::SYMLINK_NOFOLLOW)?;
            let ours = rustix::fs::fstat(&self.file)?;
            Ok((there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino))
        };
        if is_ours().unwrap_or(false) {
            let _ = unlinkat(self.directory, LOCK, AtFlags::empty());
        }
    }
}

/// Reads a plain file of a directory, or of one in it, if there is one. No link is followed, for the command may have made one that leads where only the host can read.
fn read(directory: &OwnedFd, name: &str) -> io::Result<Option<Vec<u8>>> {
    if let Some((inner, name)) = name.split_once('/') {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        return match openat(directory, inner, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => Ok(None),
            inner => read(&inner?, name),
        };
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match openat(directory, name, flags, Mode::empty()) {
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        file => fs::File::from(file?),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut content = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut content)?;
    Ok(Some(content))
}

fn create(directory: &OwnedFd, name: &str) -> io::Result<fs::File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::from_raw_mode(0o666))?.into())
}

/// Puts a file in the place of what is there, or removes that.
fn put(directory: &OwnedFd, name: &str, content: Option<&[u8]>) -> io::Result<()> {
    let Some(content) = content else { return Ok(unlinkat(directory, name, AtFlags::empty())?) };
    let lock = format!("{name}.lock");
    let mut file = create(directory, &lock)?;
    let done = file.write_all(content).and_then(|()| Ok(renameat(directory, &lock, directory, name)?));
    if done.is_err() {
        let _ = unlinkat(directory, &lock, AtFlags::empty());
    }
    done
}

/// Adds to the log of HEAD.
fn append(directory: &OwnedFd, added: &[u8]) -> io::Result<()> {
    match rustix::fs::mkdirat(directory, "logs", Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let inside = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let logs = openat(directory, "logs", inside, Mode::empty())?;
    let flags = OFlags::WRONLY
        | OFlags::CREATE
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC
        | OFlags::NONBLOCK;
    let mut file = fs::File::from(openat(&logs, "HEAD", flags, Mode::from_raw_mode(0o666))?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    file.write_all(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "ref: refs/heads/main\n";
    /// An index without entries.
    const EMPTY: &[u8] = b"DIRC\0\0\0\x02\0\0\0\0sum of twenty octets";

    fn repository() -> (tempfile::TempDir, Repository, Scratch) {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap().join("top");
        fs::create_dir_all(top.join(".git")).unwrap();
        fs::write(top.join(".git/HEAD"), HEAD).unwrap();
        let scratch = Scratch::create(directory.path()).unwrap();
        (directory, Repository::at(&top).unwrap(), scratch)
    }

    fn content(repository: &Repository, name: &str) -> Option<Vec<u8>> {
        read(&pinned::open(&repository.own).unwrap(), name).unwrap()
    }

    #[test]
    fn what_came_changed_and_went_is_carried_over() {
        let (_directory, repository, scratch) = repository();
        fs::write(repository.own.join("MERGE_HEAD"), "x").unwrap();
        let stand_in = StandIn::make(&repository, &scratch).unwrap();
        assert_eq!(stand_in.carry_over(), None);
        fs::write(stand_in.path.join("index"), EMPTY).unwrap();
        fs::remove_file(stand_in.path.join("MERGE_HEAD")).unwrap();
        fs::create_dir(stand_in.path.join("logs")).unwrap();
        fs::write(stand_in.path.join("logs/HEAD"), "line\n").unwrap();
        fs::create_dir(stand_in.path.join("hooks")).unwrap();
        fs::write(stand_in.path.join("config"), "evil").unwrap();
        assert_eq!(stand_in.carry_over(), None);
        let mut names: Vec<_> =
            fs::read_dir(&repository.own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["HEAD", "index", "logs"]);
        assert_eq!(content(&repository, "logs/HEAD").unwrap(), b"line\n");
    }

    #[test]
    fn nothing_is_carried_over_what_others_changed_or_through_links() {
        let (_directory, repository, scratch) = repository();
        let stand_in = StandIn::make(&repository, &scratch).unwrap();
        let index = stand_in.path.join("index");
        fs::write(&index, EMPTY).unwrap();
        let changed = Some(Aftermath::RepositoryChanged(repository.own.clone()));
        fs::write(repository.own.join("index.lock"), "").unwrap();
        assert_eq!(stand_in.carry_over(), changed);
        assert!(content(&repository, LOCK).is_some());
        fs::remove_file(repository.own.join("index.lock")).unwrap();
        fs::write(repository.own.join("index"), "other").unwrap();
        assert_eq!(stand_in.carry_over(), changed);
        assert_eq!(content(&repository, "index").unwrap(), b"other");
        fs::remove_file(repository.own.join("index")).unwrap();
        let failed = Some(Aftermath::RepositoryNotWritten(repository.own.clone()));
        fs::write(stand_in.path.join("HEAD"), "nonsense").unwrap();
        assert_eq!(stand_in.carry_over(), failed);
        fs::write(stand_in.path.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        fs::write(&index, "no index").unwrap();
        assert_eq!(stand_in.carry_over(), failed);
        assert_eq!(content(&repository, "HEAD").unwrap(), HEAD.as_bytes(), "all or nothing");
        fs::write(stand_in.path.join("HEAD"), HEAD).unwrap();
        fs::remove_file(&index).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &index).unwrap();
        assert_eq!(stand_in.carry_over(), failed);
        fs::remove_file(&index).unwrap();
        let elsewhere = scratch.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("HEAD"), "secret").unwrap();
        std::os::unix::fs::symlink(&elsewhere, stand_in.path.join("logs")).unwrap();
        assert_eq!(stand_in.carry_over(), failed);
        assert!(content(&repository, INDEX).is_none() && content(&repository, LOCK).is_none());
    }
}
