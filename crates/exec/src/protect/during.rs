//! Watches granted directories while a command runs: a new file under a protected name ends it at once.
//!
//! Every directory of a grant has an inotify watch. If there are too many directories, or events are lost,
//! the directories are searched again instead.

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

use crate::git::settings_paths::{self, GitDirParts};
use crate::protect::after::{self, Rename, RenamedFiles};
use crate::protect::names;
use crate::protect::writable::WritableGrant;

/// The most watches: the system's limit is one for all programs of the user.
const MAX_WATCHES: usize = 1 << 15;
/// Shortest pause between two searches, where watches are missing.
const SEARCH_INTERVAL: Duration = Duration::from_millis(100);
/// The pause between two searches, as a multiple of the time that one takes.
const PAUSE_FACTOR: u32 = 4;
/// Size of the event buffer, in bytes. All events in it are handled before anything else.
const BUFFER: usize = 4 << 10;
/// The number of events after which more of them wait, and the most entries that are listed at a time.
const MAX_EVENTS: usize = 64;

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
    /// Directories that have to be listed, the last one first.
    pending: Vec<PathBuf>,
    /// The start of a search of everything.
    searching_since: Option<Instant>,
    /// `true` if a directory could not be watched.
    is_incomplete: bool,
    /// `true` if a replaced file is writable for the command.
    reports_replaced: bool,
    findings: WatchFindings,
}

impl<'a> Watch<'a> {
    /// Starts to watch all directories that the survey found. Returns `None` without any, or without inotify.
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
            pending: Vec::new(),
            searching_since: None,
            is_incomplete: false,
            reports_replaced,
            findings,
        };
        granted.iter().flat_map(|grant| &grant.directories).for_each(|directory| watch.add(directory));
        Some(watch)
    }

    /// Renames files that appear under protected names until `end` is closed, and calls `alarm` at the first.
    pub(crate) fn run(mut self, end: BorrowedFd<'_>, alarm: impl Fn()) -> WatchFindings {
        let mut is_reported = false;
        let mut next = Instant::now() + SEARCH_INTERVAL;
        loop {
            let wait = if self.pending.is_empty() {
                self.is_incomplete.then(|| next.saturating_duration_since(Instant::now()))
            } else {
                Some(Duration::ZERO)
            };
            let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
            let mut fds =
                [PollFd::from_borrowed_fd(end, PollFlags::IN), PollFd::new(&self.inotify, PollFlags::IN)];
            let _ = poll(&mut fds, wait.as_ref());
            let is_over = !fds[0].revents().is_empty();
            self.read();
            // Events come first, so that a command that moves large directories does not delay the alarm.
            let now = Instant::now();
            if let Some(directory) = self.pending.pop() {
                self.list(&directory);
            } else if let Some(start) = self.searching_since.take() {
                next = now + SEARCH_INTERVAL.max((now - start) * PAUSE_FACTOR);
            } else if self.is_incomplete && now >= next {
                self.search_all();
            }
            if self.findings.is_alarm() && !is_reported {
                is_reported = true;
                alarm();
            }
            if is_over {
                let Self { inotify, findings, .. } = self;
                // Closing it waits for the kernel, often for 10 milliseconds and more.
                std::thread::spawn(move || drop(inotify));
                return findings;
            }
        }
    }

    fn add(&mut self, directory: &Path) {
        if self.directories.len() >= MAX_WATCHES {
            self.is_incomplete = true;
            return;
        }
        let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        match inotify::add_watch(&self.inotify, directory, flags) {
            Ok(number) => drop(self.directories.insert(number, directory.to_owned())),
            Err(rustix::io::Errno::NOSPC | rustix::io::Errno::NOMEM) => self.is_incomplete = true,
            // It is gone, or its path is too long; the sweep after the run reports that.
            Err(_) => {}
        }
    }

    /// Handles pending events.
    fn read(&mut self) {
        let mut is_lost = false;
        let mut events = Vec::new();
        let mut buffer = [const { MaybeUninit::uninit() }; BUFFER];
        let mut reader = inotify::Reader::new(self.inotify.as_fd(), &mut buffer);
        while let Ok(event) = reader.next() {
            is_lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned());
            events.push((event.wd(), event.events(), name));
            if events.len() >= MAX_EVENTS && reader.is_buffer_empty() {
                break;
            }
        }
        let is_full = events.len() >= MAX_EVENTS;
        for (number, kinds, name) in events {
            if kinds.contains(ReadFlags::IGNORED) {
                self.directories.remove(&number);
            }
            let (Some(directory), Some(name)) = (self.directories.get(&number).cloned(), name) else {
                continue;
            };
            self.check(&directory, &name);
            if kinds.contains(ReadFlags::ISDIR) {
                self.pending.push(directory.join(&name));
            }
        }
        if is_full {
            self.look_up_top();
        }
        if is_lost {
            self.search_all();
        }
    }

    /// Looks up the protected names at the top of the grants, where most of them are used: a command that
    /// makes many events must not gain time by them.
    fn look_up_top(&mut self) {
        for grant in self.granted {
            let top = &grant.pinned.path;
            for name in names::PROTECTED.iter().filter(|name| fs::symlink_metadata(top.join(name)).is_ok()) {
                self.check(top, OsStr::new(name));
            }
        }
    }

    /// Has everything searched again. The names at the top are looked up at once.
    fn search_all(&mut self) {
        self.pending.clear();
        self.searching_since.get_or_insert_with(Instant::now);
        self.look_up_top();
        self.pending.extend(self.granted.iter().map(|grant| grant.pinned.path.clone()));
    }

    /// Watches a directory, checks everything in it, and has its subdirectories listed.
    fn list(&mut self, directory: &Path) {
        // Before listing it, so that nothing is created unseen in between.
        self.add(directory);
        let Ok(entries) = fs::read_dir(directory) else { return };
        for (count, entry) in entries.flatten().enumerate() {
            if count % MAX_EVENTS == MAX_EVENTS - 1 {
                self.read();
            }
            let name = entry.file_name();
            self.check(directory, &name);
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = directory.join(&name);
                if !self.granted.iter().any(|grant| grant.protected.contains_key(&path)) {
                    self.pending.push(path);
                }
            }
        }
    }

    /// Checks a name in `directory`, and renames what has it if it is protected and new.
    fn check(&mut self, directory: &Path, name: &OsStr) {
        let path = directory.join(name);
        let Some(grant) = self.granted.iter().find(|grant| path.starts_with(&grant.pinned.path)) else {
            return;
        };
        let is_held = grant.is_held(&path);
        let is_protected =
            names::is_protected_in(directory.file_name(), name) || grant.also_protected.contains(&path);
        let is_read = names::is_read_by_git(name);
        let is_part = GitDirParts::is_part(name) && settings_paths::may_be_directory(directory);
        if !(is_held || is_protected || is_read || is_part) {
            return;
        }
        let found =
            if is_held || is_protected || is_read { path } else { directory.join(settings_paths::HEAD) };
        let Ok(metadata) = fs::symlink_metadata(&found) else {
            // It was renamed or removed since, by whomever.
            self.findings.is_alarmed |= is_protected && !is_held;
            return;
        };
        let is_plain = metadata.is_file() || metadata.is_dir() || metadata.is_symlink();
        if is_held {
            let is_known = grant.is_unchanged(&found, &metadata) || self.findings.replaced.contains(&found);
            if self.reports_replaced && !is_known {
                self.findings.replaced.push(found);
            }
        } else if (is_protected || is_part || !is_plain) && !grant.is_users(&found, &metadata) {
            self.findings.is_alarmed = true;
            // If that fails, the sweep after the run tries again.
            if let Ok(now) = after::renamed(&found) {
                self.findings.renames.refused.push(Rename { from: found, to: now });
            }
        }
    }
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
            assert!(!alive || findings.renames.new_paths().is_empty(), "{path} {findings:?}");
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
        assert_eq!(findings.renames.new_paths(), [root.join("made/HEAD.refused")]);
        let (_directory, root) = project();
        let all = granted(&root, &root).unwrap();
        fs::create_dir_all(root.join("src/inner")).unwrap();
        let findings = watched(&all, || fs::rename(root.join("src/inner"), root.join("src/.git")).unwrap());
        assert_eq!(findings.renames.new_paths(), [root.join("src/.git.refused")]);
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
        assert!(findings.renames.new_paths().is_empty());
        assert!(root.join("docs/AGENTS.md").is_file());
    }

    #[test]
    fn no_event_of_many_is_lost() {
        const COUNT: usize = 5_000;
        let (_directory, root) = project();
        let all = granted(&root, &root).unwrap();
        let mut watch = Watch::start(std::slice::from_ref(&all), false).unwrap();
        for number in 0..COUNT {
            fs::create_dir(root.join(format!("src/d{number}"))).unwrap();
        }
        for _ in 0..COUNT / MAX_EVENTS + 1 {
            watch.read();
        }
        assert_eq!(watch.pending.len(), COUNT);
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
        assert_eq!(findings.renames.new_paths(), [root.join("src/CLAUDE.md.refused")]);
    }
}
