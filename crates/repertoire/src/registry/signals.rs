//! Wakes subscribers when a snapshot is published.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Wakes the subscribers to new snapshots of a registry.
#[derive(Default)]
pub(super) struct Signals {
    wakers: Mutex<Vec<Waker>>,
    pub(super) published: Condvar,
}

impl Signals {
    /// Returns the wakers of the subscribers that wait. A snapshot is announced only while nobody holds them.
    pub(super) fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all subscribers.
    pub(super) fn announce(&self) {
        let mut wakers = self.wakers();
        self.published.notify_all();
        wakers.drain(..).for_each(Waker::wake);
    }
}
