//! Git at work in the checkouts that a command may write, started by the user.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::Repository;

/// The file that git holds while it changes a checkout.
const LOCK: &str = "index.lock";
/// The longest wait for git.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// The pause between two looks at the locks.
const PAUSE: Duration = Duration::from_millis(20);

/// The locks of git in some checkouts. No command can create them, because git directories are protected.
#[derive(Debug)]
pub(crate) struct GitLocks {
    locks: Vec<PathBuf>,
    /// Locks that are older were left behind.
    since: SystemTime,
}

impl GitLocks {
    /// Returns the locks in the checkouts at `tops`, as far as there are checkouts.
    pub(crate) fn of(tops: impl Iterator<Item = PathBuf>) -> Self {
        let locks = tops.filter_map(|top| Some(Repository::at(&top).ok()?.own.join(LOCK)));
        Self { locks: locks.collect(), since: SystemTime::now() }
    }

    /// Returns `true` if git changes one of the checkouts now.
    pub(crate) fn are_held(&self) -> bool {
        let is_held = |lock: &PathBuf| {
            let modified = fs::symlink_metadata(lock).and_then(|metadata| metadata.modified());
            modified.is_ok_and(|modified| modified >= self.since)
        };
        self.locks.iter().any(is_held)
    }

    /// Waits until git has ended, but not for long.
    pub(crate) fn wait(&self) {
        let start = Instant::now();
        while self.are_held() && start.elapsed() < MAX_WAIT {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Returns the top of the checkout around `path`, which it may be itself.
pub(crate) fn checkout_around(path: &Path) -> Option<&Path> {
    path.ancestors().find(|above| fs::symlink_metadata(above.join(".git")).is_ok())
}
