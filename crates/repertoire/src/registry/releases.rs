//! Follows the releases of a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use pollster::block_on;
use repertoire_model::RuleId;

use super::open::Registry;
use crate::Error;
use crate::provider::store::LABEL;
use crate::store::LazyStore;

/// The longest wait for a release before the next one begins.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The first and the longest pause after an error.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A thread that reloads a registry when something is released in a store.
///
/// Errors of the store are waited out. Dropping it ends the thread after the current wait.
pub struct ReleaseFollower {
    stop: Arc<AtomicBool>,
    thread: Option<Thread>,
}

impl ReleaseFollower {
    /// Starts to follow `store` for `registry`.
    pub fn start(registry: &Registry, store: LazyStore) -> Self {
        let (stop, registry) = (Arc::new(AtomicBool::new(false)), registry.clone());
        let is_stopped = Arc::clone(&stop);
        let run = move || follow(&registry, &store, &is_stopped);
        let thread = thread::Builder::new().name("releases".to_owned()).spawn(run);
        Self { stop, thread: thread.ok().map(|thread| thread.thread().clone()) }
    }
}

impl Drop for ReleaseFollower {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.iter().for_each(Thread::unpark);
    }
}

fn follow(registry: &Registry, store: &LazyStore, stop: &AtomicBool) {
    let mut seen = 0;
    let mut pause = PAUSES.0;
    // Releases until now may be in the snapshot or not.
    let mut is_behind = true;
    while !stop.load(Ordering::Relaxed) {
        match newest(store, seen, if is_behind { Duration::ZERO } else { LONGEST_WAIT }) {
            Ok(release) if release == seen && !is_behind => pause = PAUSES.0,
            Ok(release) => {
                let snapshot = block_on(registry.reload());
                is_behind = snapshot.problems().iter().any(|problem| {
                    problem.diagnostic.rule == RuleId::SourceBroken && problem.path.starts_with(LABEL)
                });
                seen = release;
            }
            Err(_) => is_behind = true,
        }
        if is_behind {
            thread::park_timeout(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }
}

/// Returns the number of the newest release, after a wait for one newer than `seen`.
fn newest(store: &LazyStore, seen: u64, patience: Duration) -> Result<u64, Error> {
    store.get()?.wait_for_release(seen, patience)
}
