//! The dashboard: its options, its state, and the senders of requests.

mod options;
mod state;
mod asker;

pub(crate) use asker::{Asker, WriteRefusal, is_equal};
pub use options::DashboardOptions;
pub(crate) use state::{
    Changes, ChangesSender, DashboardState, EntryTokenCounts, KnownUpdate, Streams, UsageCounts,
};
