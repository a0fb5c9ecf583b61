//! Wakes subscribers when a snapshot is published.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

/// The subscribers to new snapshots of a registry.
#[derive(Default)]
pub(super) struct Signals(Mutex<Vec<Weak<Signal>>>);

impl Signals {
    /// Wakes all subscribers: a snapshot was published by a reload that took `took`.
    pub(super) fn published(&self, took: Duration) {
        let mut signals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        signals.retain(|signal| match signal.upgrade() {
            Some(signal) => {
                signal.raise(took);
                true
            }
            None => false,
        });
    }

    pub(super) fn add(&self) -> Arc<Signal> {
        let signal = Arc::new(Signal::default());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&signal));
        signal
    }
}

/// Wakes one subscriber.
#[derive(Default)]
pub(super) struct Signal {
    raised: Mutex<RaisedSignal>,
    pub(super) changed: Condvar,
}

/// The state of a signal since its subscriber last looked.
#[derive(Default)]
pub(super) struct RaisedSignal {
    /// The time that the last reload took, if there was one.
    pub(super) took: Option<Duration>,
    pub(super) waker: Option<Waker>,
}

impl Signal {
    pub(super) fn raised(&self) -> MutexGuard<'_, RaisedSignal> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raise(&self, took: Duration) {
        let mut raised = self.raised();
        raised.took = Some(took);
        self.changed.notify_all();
        if let Some(waker) = raised.waker.take() {
            waker.wake();
        }
    }
}
