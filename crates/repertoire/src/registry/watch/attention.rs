//! How a registry is followed, and when that makes it reload.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::options::{ReloadMode, ReloadOptions};
use super::state::Board;
use crate::registry::signals::Signals;
use crate::registry::{Registry, Snapshot};

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

    fn mode(&self) -> Option<ReloadMode> {
        let attending = self.attending.lock().unwrap_or_else(PoisonError::into_inner);
        attending.as_ref().map(|attending| attending.options.mode)
    }

    /// Returns whether the caller has to reload a lazy library now: once per cooldown.
    fn claim(&self, now: Instant) -> bool {
        let mut attending = self.attending.lock().unwrap_or_else(PoisonError::into_inner);
        match attending.as_mut() {
            Some(attending) if attending.options.mode == ReloadMode::Lazy => {
                let is_due = now.saturating_duration_since(attending.reloaded) >= attending.options.cooldown;
                if is_due {
                    attending.reloaded = now;
                }
                is_due
            }
            _ => false,
        }
    }
}

impl Registry {
    /// Notes that the registry is used: in [`ReloadMode::Lazy`] it reloads then, at most once per cooldown. Returns the newest
    /// snapshot.
    pub async fn touch(&self) -> Arc<Snapshot> {
        if self.attention().claim(Instant::now()) { self.reload().await } else { self.snapshot() }
    }

    /// Returns a snapshot that has all changes up to now.
    ///
    /// It reloads, whatever events wait for the debounce, so that callers see their own writes. A large library that is polled
    /// is not reloaded again within a moment; in [`ReloadMode::Lazy`] the cooldown decides, and in [`ReloadMode::Off`] nothing is
    /// ever reloaded.
    pub async fn newest(&self) -> Arc<Snapshot> {
        match self.attention().mode() {
            Some(ReloadMode::Off) => self.snapshot(),
            Some(ReloadMode::Lazy) => self.touch().await,
            Some(ReloadMode::Poll) => self.reload_unless_dear().await,
            Some(ReloadMode::Watch) | None => self.reload().await,
        }
    }

    /// Reloads unless that takes long and was done a moment ago, and returns the newest snapshot.
    ///
    /// However often it is called on a large library, no more than a tenth of the time goes into reloads. In
    /// [`ReloadMode::Lazy`] the cooldown decides, and in [`ReloadMode::Off`] nothing is ever reloaded.
    pub async fn reload_if_due(&self) -> Arc<Snapshot> {
        match self.attention().mode() {
            Some(ReloadMode::Off) => self.snapshot(),
            Some(ReloadMode::Lazy) => self.touch().await,
            Some(ReloadMode::Watch | ReloadMode::Poll) | None => self.reload_unless_dear().await,
        }
    }
}
