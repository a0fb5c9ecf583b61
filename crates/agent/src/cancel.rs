//! Cancelling a conversation from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use event_listener::{Event, Listener as _};

/// Cancels what it was given to. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_cancelled: AtomicBool,
    event: Event,
}

impl Cancellation {
    /// Returns one that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::SeqCst);
        self.0.event.notify(usize::MAX);
    }

    /// Returns whether it is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    /// Waits until it is cancelled.
    pub async fn cancelled(&self) {
        while !self.is_cancelled() {
            let listener = self.0.event.listen();
            if self.is_cancelled() {
                return;
            }
            listener.await;
        }
    }

    /// Blocks for `time`, or until it is cancelled.
    fn wait(&self, time: Duration) {
        let listener = self.0.event.listen();
        if !self.is_cancelled() {
            listener.wait_timeout(time);
        }
    }

    /// Waits for `time`, or until it is cancelled.
    pub(crate) async fn pause(&self, time: Duration) {
        let cancellation = self.clone();
        blocking::unblock(move || cancellation.wait(time)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_ends_a_pause_and_wakes_those_who_wait() {
        let cancellation = Cancellation::new();
        let other = cancellation.clone();
        let thread = std::thread::spawn(move || other.wait(Duration::from_secs(3600)));
        cancellation.cancel();
        thread.join().unwrap();
        pollster::block_on(cancellation.cancelled());
        assert!(cancellation.is_cancelled());
    }
}
