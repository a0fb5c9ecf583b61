//! Subscriptions to changes of a registry.

use std::future::poll_fn;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::change::Change;
use super::open::Registry;
use super::signals::Signal;
use super::snapshot::Snapshot;

/// A subscription to the snapshots that a registry publishes.
///
/// Changes do not queue up: a subscriber that was away gets all changes since in one.
pub struct Subscription {
    registry: Registry,
    last: Arc<Snapshot>,
    signal: Arc<Signal>,
}

impl Registry {
    /// Subscribes to all snapshots from now on.
    pub fn subscribe(&self) -> Subscription {
        // The signal comes first, so that a snapshot that is published in between is not missed.
        let signal = self.follow_state().signals.add();
        Subscription { registry: self.clone(), last: self.snapshot(), signal }
    }
}

impl Subscription {
    /// Waits for the next change, no longer than `timeout`.
    pub fn next_within(&mut self, timeout: Duration) -> Option<Change> {
        let deadline = Instant::now() + timeout;
        loop {
            let took = {
                let mut raised = self.signal.raised();
                loop {
                    if let Some(took) = raised.took.take() {
                        break took;
                    }
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    let waited = self.signal.changed.wait_timeout(raised, left);
                    raised = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            };
            if let Some(change) = self.change(took) {
                return Some(change);
            }
        }
    }

    /// Waits for the next change.
    pub async fn next(&mut self) -> Change {
        loop {
            let took = poll_fn(|context| {
                let mut raised = self.signal.raised();
                match raised.took.take() {
                    Some(took) => Poll::Ready(took),
                    None => {
                        raised.waker = Some(context.waker().clone());
                        Poll::Pending
                    }
                }
            })
            .await;
            if let Some(change) = self.change(took) {
                return change;
            }
        }
    }

    fn change(&mut self, took: Duration) -> Option<Change> {
        let newest = self.registry.snapshot();
        if Arc::ptr_eq(&newest, &self.last) {
            return None;
        }
        let before = std::mem::replace(&mut self.last, Arc::clone(&newest));
        Some(Change::between(before, newest, took))
    }
}
