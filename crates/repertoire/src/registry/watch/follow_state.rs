//! The watcher of a registry, and the reloads on use.

use std::sync::{Arc, Mutex, PoisonError};

use super::options::{ReloadMode, ReloadOptions};
use super::state::WatcherState;
use crate::clock::Instant;
use crate::registry::signals::Signals;

/// The current watcher of a registry, and the subscribers to its changes.
#[derive(Default)]
pub(in crate::registry) struct FollowState {
    current: Mutex<Option<CurrentWatcher>>,
    pub(in crate::registry) signals: Signals,
}

/// The watcher whose options are in force.
struct CurrentWatcher {
    options: ReloadOptions,
    /// The identity of the watcher.
    state: Arc<WatcherState>,
    /// The time of the last reload on use.
    reloaded: Instant,
}

impl FollowState {
    /// Makes the watcher with `state` the current one, replacing any other.
    pub(super) fn begin(&self, options: ReloadOptions, state: Arc<WatcherState>) {
        let current = CurrentWatcher { options, state, reloaded: Instant::now() };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
    }

    /// Removes the watcher with `state`, if it is the current one.
    pub(super) fn end(&self, state: &Arc<WatcherState>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(&current.state, state)) {
            *current = None;
        }
    }

    pub(in crate::registry) fn mode(&self) -> Option<ReloadMode> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().map(|current| current.options.mode)
    }

    /// Returns `true` if the caller has to reload a lazy library now, which is once per cooldown.
    pub(in crate::registry) fn claim(&self) -> bool {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match current.as_mut() {
            Some(current) if current.options.mode == ReloadMode::Lazy => {
                let is_due = current.reloaded.elapsed() >= current.options.cooldown;
                if is_due {
                    current.reloaded = Instant::now();
                }
                is_due
            }
            _ => false,
        }
    }
}
