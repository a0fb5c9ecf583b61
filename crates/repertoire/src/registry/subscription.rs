//! Subscriptions to changes of a registry.

use std::future::poll_fn;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::change::Change;
use super::open::Registry;
use super::snapshot::Snapshot;

/// A subscription to the snapshots that a registry publishes.
///
/// Changes do not queue up: a subscriber that was away gets all changes since in one.
pub struct Subscription {
    registry: Registry,
    last: Arc<Snapshot>,
}

impl Registry {
    /// Subscribes to all snapshots from now on.
    pub fn subscribe(&self) -> Subscription {
        Subscription { registry: self.clone(), last: self.snapshot() }
    }
}

impl Subscription {
    /// Waits for the next change, no longer than `timeout`.
    pub fn next_within(&mut self, timeout: Duration) -> Option<Change> {
        let deadline = Instant::now() + timeout;
        let registry = self.registry.clone();
        let mut wakers = registry.signals().wakers();
        loop {
            // A snapshot that is published from here on is announced once the wait has begun.
            if let Some(change) = self.change() {
                return Some(change);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = registry.signals().published.wait_timeout(wakers, left);
            wakers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for the next change.
    pub async fn next(&mut self) -> Change {
        let (before, newest) = self.next_snapshots().await;
        let took = newest.took;
        Change::between(before, newest, took)
    }

    /// Waits for the next snapshot, whose changes are not worked out.
    pub async fn next_snapshot(&mut self) -> Arc<Snapshot> {
        self.next_snapshots().await.1
    }

    /// Waits for the next snapshot, and returns the last one before it.
    async fn next_snapshots(&mut self) -> (Arc<Snapshot>, Arc<Snapshot>) {
        let registry = self.registry.clone();
        poll_fn(|context| {
            let mut wakers = registry.signals().wakers();
            match self.replace_last() {
                Some(snapshots) => Poll::Ready(snapshots),
                None => {
                    if !wakers.iter().any(|known| known.will_wake(context.waker())) {
                        wakers.push(context.waker().clone());
                    }
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn change(&mut self) -> Option<Change> {
        let (before, newest) = self.replace_last()?;
        let took = newest.took;
        Some(Change::between(before, newest, took))
    }

    /// Returns the last snapshot and the newest one, which takes its place, if there is a newer one.
    fn replace_last(&mut self) -> Option<(Arc<Snapshot>, Arc<Snapshot>)> {
        let newest = self.registry.snapshot();
        if Arc::ptr_eq(&newest, &self.last) {
            return None;
        }
        let before = std::mem::replace(&mut self.last, Arc::clone(&newest));
        Some((before, newest))
    }
}
