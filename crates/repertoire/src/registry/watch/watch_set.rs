//! The directories that are watched for all sources.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use std::{fmt, io};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::inbox::Message;
use super::relevance::{WatchedDirectories, ends_watch, is_relevant};
use super::state::PollReason;
use crate::provider::{WatchPoint, WatchScope};

/// The time after which a source to which the system refused watches is tried again: it may need thousands.
const RETRY: Duration = Duration::from_secs(600);

/// The directories that are watched for all sources.
pub(super) struct WatchSet {
    /// The system's watches, or the reason why there are not any.
    watcher: Result<RecommendedWatcher, String>,
    watched: Arc<RwLock<WatchedDirectories>>,
    budget: usize,
    /// The sources to which the system refused watches.
    refusals: HashMap<usize, WatchRefusal>,
}

/// A refusal of the system to watch a source.
struct WatchRefusal {
    when: Instant,
    reason: PollReason,
}

pub(super) struct WatchOutcome {
    /// For each source the number of watched directories, or the reason that it must be polled.
    pub(super) sources: Vec<Result<usize, PollReason>>,
    /// True if a directory is newly watched or no longer exists: changes there caused no event.
    pub(super) has_new: bool,
    /// True if a directory that cannot be read is not watched, so that it may be opened without an event.
    pub(super) has_unreadable: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectoryWatch {
    /// It was watched before.
    Known,
    /// The library may have changed there unnoticed: it was not watched before, or no longer exists.
    New,
    /// This user may not read it.
    Unreadable,
}

impl WatchSet {
    /// Returns an empty set for at most `budget` directories, whose events go to `inbox`.
    pub(super) fn new(budget: usize, inbox: Sender<Message>) -> Self {
        let watched = Arc::new(RwLock::new(HashMap::new()));
        let known = Arc::clone(&watched);
        let watcher = notify::recommended_watcher(move |event| receive(event, &known, &inbox));
        let watcher = watcher.map_err(|error| error.to_string());
        Self { watcher, watched, budget, refusals: HashMap::new() }
    }

    fn watched(&self) -> std::sync::RwLockReadGuard<'_, WatchedDirectories> {
        self.watched.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of watched directories.
    pub(super) fn len(&self) -> usize {
        self.watched().len()
    }

    /// Forgets directories whose watches ended or lead elsewhere, for [`WatchSet::set`] to watch again.
    ///
    /// Those below are forgotten too: if the place was taken, they lead to what was there before.
    pub(super) fn forget(&mut self, ended: &[PathBuf]) {
        let ended: HashSet<&Path> = ended.iter().map(PathBuf::as_path).collect();
        let is_ended = |path: &&PathBuf| path.ancestors().any(|above| ended.contains(above));
        let all: Vec<PathBuf> = self.watched().keys().filter(is_ended).cloned().collect();
        all.iter().for_each(|directory| self.unwatch(directory));
    }

    /// Watches the points of all sources and nothing else; a source is watched as a whole or not at all.
    pub(super) fn set(&mut self, sources: Vec<Option<Vec<WatchPoint>>>) -> WatchOutcome {
        let mut wanted: HashMap<PathBuf, WatchScope> = HashMap::new();
        let mut accepted: Vec<Result<Vec<PathBuf>, PollReason>> = Vec::with_capacity(sources.len());
        for (source, points) in sources.into_iter().enumerate() {
            accepted.push(self.accept(source, points, &mut wanted));
        }
        let stale: Vec<PathBuf> =
            self.watched().keys().filter(|path| !wanted.contains_key(*path)).cloned().collect();
        stale.iter().for_each(|directory| self.unwatch(directory));

        let (mut has_new, mut has_unreadable) = (false, false);
        let mut outcomes = Vec::with_capacity(accepted.len());
        for (source, directories) in accepted.into_iter().enumerate() {
            let outcome = directories.and_then(|directories| {
                let refused = directories.iter().find_map(|directory| {
                    let scope = wanted.get(directory).copied()?;
                    match self.watch(directory, scope) {
                        Ok(outcome) => {
                            has_new |= outcome == DirectoryWatch::New;
                            has_unreadable |= outcome == DirectoryWatch::Unreadable;
                            None
                        }
                        Err(reason) => Some(reason),
                    }
                });
                match refused {
                    None => Ok(directories.iter().filter(|path| self.watched().contains_key(*path)).count()),
                    Some(reason) => {
                        directories.iter().for_each(|directory| self.unwatch(directory));
                        let refusal = WatchRefusal { when: Instant::now(), reason: reason.clone() };
                        self.refusals.insert(source, refusal);
                        Err(reason)
                    }
                }
            });
            outcomes.push(outcome);
        }
        WatchOutcome { sources: outcomes, has_new, has_unreadable }
    }

    /// Adds the points of a source to `wanted` and returns its directories, or the reason to poll it.
    fn accept(
        &mut self,
        source: usize,
        points: Option<Vec<WatchPoint>>,
        wanted: &mut HashMap<PathBuf, WatchScope>,
    ) -> Result<Vec<PathBuf>, PollReason> {
        let points = points.ok_or(PollReason::NoEvents)?;
        if let Err(error) = &self.watcher {
            return Err(PollReason::Refused(error.clone()));
        }
        match self.refusals.get(&source) {
            Some(refusal) if refusal.when.elapsed() < RETRY => return Err(refusal.reason.clone()),
            _ => self.refusals.remove(&source),
        };
        let mut ways = points.iter().filter(|point| point.scope != WatchScope::Manifest);
        if let Some(kind) = ways.find_map(|point| remote_kind(&point.directory)) {
            return Err(PollReason::Remote(kind));
        }
        let new: HashSet<&Path> = points
            .iter()
            .map(|point| point.directory.as_path())
            .filter(|directory| !wanted.contains_key(*directory))
            .collect();
        if wanted.len() + new.len() > self.budget {
            return Err(PollReason::Budget { needed: points.len(), budget: self.budget });
        }
        let mut directories = Vec::with_capacity(points.len());
        for WatchPoint { directory, scope } in points {
            let widest = wanted.entry(directory.clone()).or_insert(scope);
            *widest = scope.max(*widest);
            directories.push(directory);
        }
        Ok(directories)
    }

    fn watch(&mut self, directory: &Path, scope: WatchScope) -> Result<DirectoryWatch, PollReason> {
        if let Some(known) = self.watched.write().unwrap_or_else(PoisonError::into_inner).get_mut(directory) {
            *known = scope;
            return Ok(DirectoryWatch::Known);
        }
        let Ok(watcher) = &mut self.watcher else { return Ok(DirectoryWatch::Known) };
        // It is registered before it is watched, so that no event is taken for noise.
        self.watched.write().unwrap_or_else(PoisonError::into_inner).insert(directory.to_owned(), scope);
        let Err(error) = watcher.watch(directory, RecursiveMode::NonRecursive) else {
            return Ok(DirectoryWatch::New);
        };
        self.watched.write().unwrap_or_else(PoisonError::into_inner).remove(directory);
        match &error.kind {
            notify::ErrorKind::PathNotFound => Ok(DirectoryWatch::New),
            notify::ErrorKind::Io(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(DirectoryWatch::New),
                io::ErrorKind::PermissionDenied => Ok(DirectoryWatch::Unreadable),
                _ => Err(refused(&error)),
            },
            _ => Err(refused(&error)),
        }
    }

    fn unwatch(&mut self, directory: &Path) {
        let known = self.watched.write().unwrap_or_else(PoisonError::into_inner).remove(directory);
        if let (Some(_), Ok(watcher)) = (known, &mut self.watcher) {
            // The system may have ended it already.
            let _ = watcher.unwatch(directory);
        }
    }
}

fn refused(error: &impl fmt::Display) -> PollReason {
    PollReason::Refused(format!("the system refuses more watches: {error}"))
}

/// Passes an event on to `inbox` if it may change a skill.
fn receive(event: notify::Result<Event>, watched: &RwLock<WatchedDirectories>, inbox: &Sender<Message>) {
    // There is no receiver of events left while the thread ends.
    let send = |ended: Option<PathBuf>| drop(inbox.send(Message::Event(ended)));
    let event = match event {
        Ok(event) if !event.need_rescan() => event,
        // Events were lost, so that anything may have changed.
        Ok(_) | Err(_) => return send(None),
    };
    let watched = watched.read().unwrap_or_else(PoisonError::into_inner);
    for path in event.paths.iter().filter(|path| is_relevant(&event.kind, path, &watched)) {
        let is_ended = ends_watch(&event.kind) && watched.contains_key(path);
        send(is_ended.then(|| path.clone()));
    }
}

/// Returns the most directories that may be watched if `max_watches` are configured: no more than half of the
/// watches that the system grants to all programs of a user together.
#[cfg(target_os = "linux")]
#[allow(clippy::disallowed_methods, reason = "it is a file of the system, not of a skill")]
pub(super) fn watch_budget(max_watches: usize) -> usize {
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    let limit = limit.ok().and_then(|limit| limit.trim().parse::<usize>().ok());
    limit.map_or(max_watches, |limit| max_watches.min(limit / 2))
}

/// Returns the most directories that may be watched if `max_watches` are configured.
#[cfg(not(target_os = "linux"))]
pub(super) fn watch_budget(max_watches: usize) -> usize {
    max_watches
}

/// Network file systems, whose changes on other machines cause no events.
#[cfg(target_os = "linux")]
const REMOTE: [(u32, &str); 8] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "SMB"),
    (0xFE53_4D42, "SMB"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
];

/// Returns the kind of network file system that holds `directory`, if it is one.
#[cfg(target_os = "linux")]
pub(super) fn remote_kind(directory: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(directory).ok()?.f_type;
    // The numbers have 32 bits; the width of the field depends on the machine.
    let magic = magic as u32;
    REMOTE.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

/// Returns the kind of network file system that holds `directory`, if it is known.
#[cfg(not(target_os = "linux"))]
pub(super) fn remote_kind(_directory: &Path) -> Option<&'static str> {
    None
}
