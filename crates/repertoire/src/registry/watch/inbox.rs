//! Events that wait for the thread that follows a library: a checkout of five thousand skills is one change.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest time from the first event to the reload, however many follow.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// Passes events to the thread that follows a library.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pending: Mutex<Pending>,
    changed: Condvar,
}

/// The events since the last reload.
#[derive(Debug, Default)]
struct Pending {
    first: Option<Instant>,
    last: Option<Instant>,
    /// Watched directories that were removed, renamed or replaced.
    ended: Vec<PathBuf>,
    is_over: bool,
}

impl Pending {
    /// Returns when the debounce is over, if there are events.
    fn due(&self, debounce: Duration) -> Option<Instant> {
        let (first, last) = self.first.zip(self.last)?;
        Some((last + debounce).min(first + MAX_DELAY.max(debounce)))
    }
}

/// The reason why a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// There were events; the watches on these directories ended.
    Events(Vec<PathBuf>),
    /// The time is up.
    Timeout,
    /// The watcher was dropped.
    Over,
}

impl Inbox {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event. `ended` is the watched directory that was removed, renamed or replaced, if one was.
    pub(super) fn add(&self, ended: Option<PathBuf>) {
        let mut pending = self.pending();
        let now = Instant::now();
        pending.first.get_or_insert(now);
        pending.last = Some(now);
        pending.ended.extend(ended);
        self.changed.notify_all();
    }

    /// Ends all waits.
    pub(super) fn close(&self) {
        self.pending().is_over = true;
        self.changed.notify_all();
    }

    /// Waits until there were events and then none for `debounce`, but no longer than until `deadline`.
    pub(super) fn wait(&self, debounce: Duration, deadline: Instant) -> Wake {
        let mut pending = self.pending();
        loop {
            if pending.is_over {
                return Wake::Over;
            }
            let now = Instant::now();
            let due = pending.due(debounce);
            if due.is_some_and(|due| due <= now) {
                return Wake::Events(std::mem::take(&mut *pending).ended);
            }
            if deadline <= now {
                return Wake::Timeout;
            }
            let until = due.map_or(deadline, |due| due.min(deadline));
            let waited = self.changed.wait_timeout(pending, until.saturating_duration_since(now));
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBOUNCE: Duration = Duration::from_millis(30);

    fn pending(first: Instant, last: Instant) -> Pending {
        Pending { first: Some(first), last: Some(last), ..Pending::default() }
    }

    #[test]
    fn a_reload_is_due_when_events_pause_or_after_the_longest_delay() {
        let start = Instant::now();
        assert_eq!(Pending::default().due(DEBOUNCE), None);
        assert_eq!(pending(start, start).due(DEBOUNCE), Some(start + DEBOUNCE));
        let last = start + Duration::from_millis(20);
        assert_eq!(pending(start, last).due(DEBOUNCE), Some(last + DEBOUNCE));
        assert_eq!(pending(start, start + MAX_DELAY).due(DEBOUNCE), Some(start + MAX_DELAY));
    }

    #[test]
    fn a_wait_ends_with_events_a_timeout_or_the_end() {
        let inbox = Inbox::default();
        let deadline = Instant::now() + Duration::from_secs(60);
        inbox.add(Some(PathBuf::from("/a")));
        inbox.add(None);
        assert_eq!(inbox.wait(Duration::ZERO, deadline), Wake::Events(vec![PathBuf::from("/a")]));
        assert_eq!(inbox.wait(Duration::ZERO, Instant::now()), Wake::Timeout);
        inbox.close();
        assert_eq!(inbox.wait(Duration::ZERO, deadline), Wake::Over);
    }
}
