//! How a registry is followed, and when that makes it reload.

use std::sync::{Arc, Mutex, PoisonError};

use super::options::{ReloadMode, ReloadOptions};
use super::state::Board;
use crate::clock::Instant;
use crate::registry::signals::Signals;

/// How a registry is followed, and the subscribers to its changes.
#[derive(Default)]
pub(in crate::registry) struct Attention {
    attending: Mutex<Option<CurrentWatcher>>,
    pub(in crate::registry) signals: Signals,
}

/// The watcher that decides.
struct CurrentWatcher {
    options: ReloadOptions,
    /// Tells one watcher from another.
    board: Arc<Board>,
    /// When the library was last reloaded because it was used.
    reloaded: Instant,
}

impl Attention {
    /// Begins to be followed, in place of whatever was before.
    pub(super) fn begin(&self, options: ReloadOptions, board: Arc<Board>) {
        let attending = CurrentWatcher { options, board, reloaded: Instant::now() };
        *self.attending.lock().unwrap_or_else(PoisonError::into_inner) = Some(attending);
    }

    /// Is no longer followed by the watcher with `board`.
    pub(super) fn end(&self, board: &Arc<Board>) {
        let mut attending = self.attending.lock().unwrap_or_else(PoisonError::into_inner);
        if attending.as_ref().is_some_and(|attending| Arc::ptr_eq(&attending.board, board)) {
            *attending = None;
        }
    }

    pub(in crate::registry) fn mode(&self) -> Option<ReloadMode> {
        let attending = self.attending.lock().unwrap_or_else(PoisonError::into_inner);
        attending.as_ref().map(|attending| attending.options.mode)
    }

    /// Returns whether the caller has to reload a lazy library now: once per cooldown.
    pub(in crate::registry) fn claim(&self) -> bool {
        let mut attending = self.attending.lock().unwrap_or_else(PoisonError::into_inner);
        match attending.as_mut() {
            Some(attending) if attending.options.mode == ReloadMode::Lazy => {
                let is_due = attending.reloaded.elapsed() >= attending.options.cooldown;
                if is_due {
                    attending.reloaded = Instant::now();
                }
                is_due
            }
            _ => false,
        }
    }
}
