//! The journal of events, and the usage that is counted from it.

use std::time::{Duration, SystemTime};

use crate::Error;
use crate::event::{Event, EventKind, Outcome};

/// Selects events of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventQuery {
    /// Only events with a larger number.
    pub after: Option<u64>,
    /// Only events with a smaller number.
    pub before: Option<u64>,
    /// Only events at this time or later.
    pub since: Option<SystemTime>,
    /// Only events about the skill of this name.
    pub skill: Option<String>,
    /// Only events of the agent of this name.
    pub agent: Option<String>,
    /// The most events that are returned: the newest ones, or the first ones where `after` is set.
    pub limit: usize,
}

impl Default for EventQuery {
    fn default() -> Self {
        Self { after: None, before: None, since: None, skill: None, agent: None, limit: 1_000 }
    }
}

/// An event of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    /// Its number; later events have larger ones.
    pub id: u64,
    /// The event as a line of JSON, as [`crate::event::jsonl`] writes it.
    pub json: String,
}

/// The calls of one kind, with one outcome, by one agent, about one skill and file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageCount {
    /// The kind of the calls.
    pub kind: EventKind,
    /// Their outcome.
    pub outcome: Outcome,
    /// The skill that they were about.
    pub skill: String,
    /// The source of the skill, if it was found.
    pub source: Option<String>,
    /// The identity of the skill, if it was found. Usage from before identities were recorded has no
    /// identity; see [`identify`](crate::usage::identify).
    pub identity: Option<String>,
    /// The file that they were about.
    pub file: Option<String>,
    /// The agent that called.
    pub agent: Option<String>,
    /// The number of calls.
    pub calls: u64,
    /// The tokens that were served.
    pub tokens: u64,
    /// The time of the last call there ever was.
    pub last: SystemTime,
}

/// The successful loads of a skill on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyLoads {
    /// The skill.
    pub skill: String,
    /// The identity of the skill, as in [`UsageCount`].
    pub identity: Option<String>,
    /// The day, in days since 1970-01-01 UTC.
    pub day: u64,
    /// The number of loads.
    pub loads: u64,
}

/// The events that a journal keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The age at which events are removed.
    pub age: Duration,
    /// The most events; the oldest are removed first.
    pub events: u64,
}

/// A journal of events.
///
/// Usage is counted when events are appended, by day, and stays when events are removed.
pub trait Journal: Send + Sync {
    /// Appends `events`, all or none.
    fn append(&self, events: &[Event]) -> Result<(), Error>;

    /// Returns the events that `query` selects, the oldest first.
    fn events(&self, query: &EventQuery) -> Result<Vec<JournalLine>, Error>;

    /// Returns the usage of skills, in no particular order. Calls and tokens are those of the day of `since`
    /// and later, all of them without `since`; skills used only before that day have no calls and no tokens,
    /// and the time of their last call.
    ///
    /// Only calls about a skill count, and no requests that were refused.
    fn usage(&self, since: Option<SystemTime>) -> Result<Vec<UsageCount>, Error>;

    /// Returns the loads of skills per day, from the day of `since`, sorted by skill, identity and day.
    fn daily_loads(&self, since: SystemTime) -> Result<Vec<DailyLoads>, Error>;

    /// Removes the events that are older than `retention` allows at the time `now`. Returns their number.
    fn prune(&self, retention: Retention, now: SystemTime) -> Result<u64, Error>;
}
