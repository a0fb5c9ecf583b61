//! Watches granted directories while a command runs, so that a new file under a protected name ends the command at once.
//!
//! Every directory of a grant has an inotify watch. If there are too many for the system's limit, or events are lost, the
//! directories are searched again instead.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use crate::git::obeyed::{self, GitDirParts};
use crate::protect::after::{self, RenamedFiles};
use crate::protect::names;
use crate::protect::writable::WritableGrant;

/// Shortest pause between two searches, where watches are missing.
const SEARCH_INTERVAL: Duration = Duration::from_millis(100);
/// The pause between two searches, as a multiple of the time that one takes.
const PAUSE_FACTOR: u32 = 4;
/// Size of the event buffer, in bytes.
const BUFFER: usize = 64 << 10;

/// The findings of a watch.
#[derive(Debug, Default)]
pub(crate) struct WatchFindings {
    /// Files that were created under protected names and renamed at once.
    pub(crate) renames: RenamedFiles,
    /// Protected files that existed before and were replaced on the host.
    pub(crate) replaced: Vec<PathBuf>,
    /// `true` if a file was created under a protected name, renamed or not.
    is_alarmed: bool,
}

impl WatchFindings {
    /// Returns whether the command has to end.
    pub(crate) fn is_alarm(&self) -> bool {
        self.is_alarmed || !self.replaced.is_empty()
    }
}

/// The watch of the granted directories of one command.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    granted: &'a [WritableGrant],
    inotify: OwnedFd,
    /// The watched directories, by watch descriptor.
    directories: HashMap<i32, PathBuf>,
    /// `true` if a directory could not be watched.
    is_incomplete: bool,
    /// `true` if a replaced file is writable for the command.
    reports_replaced: bool,
    findings: WatchFindings,
}

impl<'a> Watch<'a> {
    /// Starts to watch all directories that the survey found. Returns `None` if there are none, or inotify does not work.
    pub(crate) fn start(granted: &'a [WritableGrant], reports_replaced: bool) -> Option<Self> {
        if granted.iter().all(|grant| grant.directories.is_empty()) {
            return None;
        }
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let findings = WatchFindings::default();
        let mut watch = Self {
            granted,
            inotify,
            directories: HashMap::new(),
            is_incomplete: false,
            reports_replaced,
            findings,
        };
        granted.iter().flat_map(|grant| &grant.directories).for_each(|directory| watch.add(directory));
        Some(watch)
    }

    /// Renames files that appear under protected names until `end` is closed, and calls `alarm` at the first one.
    pub(crate) fn run(mut self, end: BorrowedFd<'_>, alarm: impl Fn()) -> WatchFindings {
        let mut is_reported = false;
        let mut next = Instant::now() + SEARCH_INTERVAL;
        loop {
            let wait =
                self.is_incomplete.then(|| next.saturating_duration_since(Instant::now())).map(timespec);
            let mut fds =
                [PollFd::from_borrowed_fd(end, PollFlags::IN), PollFd::new(&self.inotify, PollFlags::IN)];
            let _ = poll(&mut fds, wait.as_ref());
            let is_over = !fds[0].revents().is_empty();
            let mut is_lost = self.read(end);
            is_lost |= self.is_incomplete && Instant::now() >= next;
            if is_lost && !is_over {
                let start = Instant::now();
                self.granted.iter().for_each(|grant| self.search(grant.pinned.path.clone(), end));
                next = Instant::now() + SEARCH_INTERVAL.max(start.elapsed() * PAUSE_FACTOR);
            }
            if self.findings.is_alarm() && !is_reported {
                is_reported = true;
                alarm();
            }
            if is_over {
                return self.findings;
            }
        }
    }

    fn add(&mut self, directory: &Path) {
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        match inotify::add_watch(&self.inotify, directory, flags) {
            Ok(number) => drop(self.directories.insert(number, directory.to_owned())),
            Err(rustix::io::Errno::NOSPC | rustix::io::Errno::NOMEM) => self.is_incomplete = true,
            // It is gone, or its path is too long; the sweep after the run reports that.
            Err(_) => {}
        }
    }

    /// Handles all pending events; returns whether some were lost.
    fn read(&mut self, end: BorrowedFd<'_>) -> bool {
        let mut is_lost = false;
        let mut events = Vec::new();
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reader = inotify::Reader::new(self.inotify.as_fd(), &mut buffer);
        while let Ok(event) = reader.next() {
            is_lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned());
            events.push((event.wd(), event.events(), name));
            // A flood of events does not delay the alarm.
            if events.len() >= BUFFER / 16 {
                break;
            }
        }
        for (number, kinds, name) in events {
            if kinds.contains(ReadFlags::IGNORED) {
                self.directories.remove(&number);
            }
            let (Some(directory), Some(name)) = (self.directories.get(&number).cloned(), name) else {
                continue;
            };
            self.check(&directory, &name);
            if kinds.contains(ReadFlags::ISDIR) {
                self.search(directory.join(&name), end);
            }
        }
        is_lost
    }

    /// Checks a name that appeared in `directory`, and renames it if it is protected.
    fn check(&mut self, directory: &Path, name: &OsStr) {
        let path = directory.join(name);
        let Some(grant) = self.granted.iter().find(|grant| path.starts_with(&grant.pinned.path)) else {
            return;
        };
        let metadata = fs::symlink_metadata(&path).ok();
        if grant.is_held(&path) {
            let is_same = metadata.is_some_and(|metadata| grant.is_unchanged(&path, &metadata));
            if self.reports_replaced && !is_same && !self.findings.replaced.contains(&path) {
                self.findings.replaced.push(path);
            }
            return;
        }
        let is_pipe = || {
            names::is_read_by_git(name)
                && metadata.as_ref().is_some_and(|metadata| {
                    !metadata.is_file() && !metadata.is_dir() && !metadata.is_symlink()
                })
        };
        let is_git_part = || {
            let mut part = GitDirParts::default();
            part.note(name);
            part.is_any() && obeyed::may_be_directory(directory)
        };
        let found = if names::is_protected_in(directory.file_name(), name)
            || grant.obeyed.contains(&path)
            || is_pipe()
        {
            path
        } else if is_git_part() {
            directory.join(obeyed::HEAD)
        } else {
            return;
        };
        let is_users = |metadata: &fs::Metadata| grant.is_users(&found, metadata);
        if fs::symlink_metadata(&found).is_ok_and(|metadata| is_users(&metadata)) {
            return;
        }
        self.findings.is_alarmed = true;
        // If that fails, the sweep after the run tries again.
        if let Ok(now) = after::renamed(&found) {
            self.findings.renames.refused.push(now);
        }
    }

    /// Watches a directory that appeared, and checks everything in it.
    fn search(&mut self, top: PathBuf, end: BorrowedFd<'_>) {
        let mut pending = vec![top];
        while let Some(directory) = pending.pop() {
            let mut fds = [PollFd::from_borrowed_fd(end, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&timespec(Duration::ZERO)));
            if !fds[0].revents().is_empty() {
                return;
            }
            // Before listing it, so that nothing is created unseen in between.
            self.add(&directory);
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let path = directory.join(&name);
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                self.check(&directory, &name);
                if is_directory && !self.granted.iter().any(|grant| grant.protected.contains_key(&path)) {
                    pending.push(path);
                }
            }
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;

    use super::*;
    use crate::protect::writable::tests::{granted, project};

    /// Makes changes while a watch runs, waits for its alarm, and returns its findings.
    fn watched(grant: &WritableGrant, change: impl FnOnce()) -> WatchFindings {
        let watch = Watch::start(std::slice::from_ref(grant), true).unwrap();
        let (end, ended) = UnixStream::pair().unwrap();
        let (sender, alarms) = mpsc::channel();
        std::thread::scope(|scope| {
            let running = scope.spawn(move || watch.run(ended.as_fd(), || sender.send(()).unwrap()));
            change();
            alarms.recv().unwrap();
            drop(end);
            running.join().unwrap()
        })
    }

    #[test]
    fn new_protected_names_are_renamed_at_once() {
        for path in ["CLAUDE.md", "src/deep/.envrc", "new/a/b/.claude/x", ".cargo/config.toml", "x/SKILL.md"]
        {
            let (_directory, root) = project();
            let all = granted(&root, &root).unwrap();
            let findings = watched(&all, || {
                // Either fails if the directory is renamed meanwhile.
                let _ = fs::create_dir_all(root.join(path).parent().unwrap());
                let _ = fs::write(root.join(path), "obey");
            });
            assert!(findings.replaced.is_empty(), "{path} {findings:?}");
            let alive = fs::symlink_metadata(root.join(path)).is_ok();
            assert!(!alive || findings.renames.refused.is_empty(), "{path} {findings:?}");
        }
    }

    #[test]
    fn a_directory_that_becomes_one_of_git_is_noticed() {
        let (_directory, root) = project();
        let all = granted(&root, &root).unwrap();
        let findings = watched(&all, || {
            fs::create_dir_all(root.join("made/objects")).unwrap();
            fs::create_dir_all(root.join("made/refs")).unwrap();
            fs::write(root.join("made/HEAD"), "ref: refs/heads/main").unwrap();
        });
        assert_eq!(findings.renames.refused, [root.join("made/HEAD.refused")]);
        let (_directory, root) = project();
        let all = granted(&root, &root).unwrap();
        fs::create_dir_all(root.join("src/inner")).unwrap();
        let findings = watched(&all, || fs::rename(root.join("src/inner"), root.join("src/.git")).unwrap());
        assert_eq!(findings.renames.refused, [root.join("src/.git.refused")]);
    }

    #[test]
    fn a_replaced_protected_file_is_reported_and_left_alone() {
        let (_directory, root) = project();
        let all = granted(&root, &root).unwrap();
        let findings = watched(&all, || {
            fs::write(root.join("docs/saved"), "edited").unwrap();
            fs::rename(root.join("docs/saved"), root.join("docs/AGENTS.md")).unwrap();
        });
        assert_eq!(findings.replaced, [root.join("docs/AGENTS.md")]);
        assert!(findings.renames.refused.is_empty());
        assert!(root.join("docs/AGENTS.md").is_file());
    }

    #[test]
    fn directories_without_a_watch_are_searched() {
        let (_directory, root) = project();
        let all = granted(&root, &root).unwrap();
        let mut watch = Watch::start(std::slice::from_ref(&all), false).unwrap();
        for number in std::mem::take(&mut watch.directories).into_keys() {
            inotify::remove_watch(&watch.inotify, number).unwrap();
        }
        watch.is_incomplete = true;
        let (end, ended) = UnixStream::pair().unwrap();
        fs::write(root.join("src/CLAUDE.md"), "obey").unwrap();
        let findings = std::thread::scope(|scope| {
            let (sender, alarms) = mpsc::channel();
            let running = scope.spawn(move || watch.run(ended.as_fd(), || sender.send(()).unwrap()));
            alarms.recv().unwrap();
            drop(end);
            running.join().unwrap()
        });
        assert_eq!(findings.renames.refused, [root.join("src/CLAUDE.md.refused")]);
    }
}
