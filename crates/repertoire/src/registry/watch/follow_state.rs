//! How a registry is followed, and when that makes it reload.

use std::sync::{Arc, Mutex, PoisonError};

use super::options::{ReloadMode, ReloadOptions};
use super::state::WatcherState;
use crate::clock::Instant;
use crate::registry::signals::Signals;

/// How a registry is followed, and the subscribers to its changes.
#[derive(Default)]
pub(in crate::registry) struct FollowState {
    current: Mutex<Option<CurrentWatcher>>,
    pub(in crate::registry) signals: Signals,
}

/// The watcher that decides.
struct CurrentWatcher {
    options: ReloadOptions,
    /// Tells one watcher from another.
    state: Arc<WatcherState>,
    /// When the library was last reloaded because it was used.
    reloaded: Instant,
}

impl FollowState {
    /// Begins to be followed, in place of whatever was before.
    pub(super) fn begin(&self, options: ReloadOptions, state: Arc<WatcherState>) {
        let current = CurrentWatcher { options, state, reloaded: Instant::now() };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
    }

    /// Is no longer followed by the watcher with `state`.
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

    /// Returns whether the caller has to reload a lazy library now: once per cooldown.
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
