//! The state of a watcher: the method by which each source is followed.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The method by which a source is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowMethod {
    /// By watching this many of its directories.
    Watching(usize),
    /// By polling.
    Polling(PollReason),
    /// By a check on use.
    OnUse,
    /// Not at all.
    Not,
}

/// The reason that a source is polled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PollReason {
    /// Polling was configured.
    Chosen,
    /// The source is of a kind that has no events.
    NoEvents,
    /// It lies in a network file system of this kind, where changes on other machines cause no events.
    Remote(&'static str),
    /// It needs this many watches, more than are left of the budget.
    Budget {
        /// The number of watches it needs.
        needed: usize,
        /// The most watches of all sources together.
        budget: usize,
    },
    /// The system refuses to watch it; holds the system's message.
    Refused(String),
}

impl fmt::Display for PollReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen => f.write_str("as chosen"),
            Self::NoEvents => f.write_str("the source has no events"),
            Self::Remote(kind) => write!(f, "{kind} does not tell of changes made elsewhere"),
            Self::Budget { needed, budget } => {
                write!(f, "it needs {needed} watches, and no more than {budget} may be held in all")
            }
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl PollReason {
    /// Returns `true` if the source would be watched if more watches were available.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Budget { .. } | Self::Refused(_))
    }
}

/// The method by which one source is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceState {
    /// The source.
    pub source: Arc<str>,
    /// The method.
    pub following: FollowMethod,
}

/// The state of a watcher, shared by its thread and its handle.
#[derive(Debug, Default)]
pub(in crate::registry) struct WatcherState {
    content: Mutex<StateContent>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct StateContent {
    sources: Vec<SourceState>,
    watches: usize,
    is_ready: bool,
}

impl WatcherState {
    fn content(&self) -> MutexGuard<'_, StateContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the state of the sources and the total number of watches.
    pub(super) fn post(&self, sources: Vec<SourceState>, watches: usize) {
        let mut content = self.content();
        (content.sources, content.watches) = (sources, watches);
    }

    pub(super) fn watches(&self) -> usize {
        self.content().watches
    }

    /// Marks the watcher as ready: from now on no change is missed.
    pub(super) fn ready(&self) {
        self.content().is_ready = true;
        self.changed.notify_all();
    }

    pub(super) fn sources(&self) -> Vec<SourceState> {
        self.content().sources.clone()
    }

    /// Waits until the watcher is ready, no longer than `timeout`; returns whether it is.
    pub(super) fn wait_ready(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut content = self.content();
        while !content.is_ready {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(content, left);
            content = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}
