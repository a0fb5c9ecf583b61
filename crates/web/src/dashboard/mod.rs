//! The dashboard: its options, its state, and the senders of requests.

mod options;
mod state;
mod request_context;

pub use options::DashboardOptions;
pub(crate) use request_context::{RequestContext, WriteRefusal, is_equal};
pub(crate) use state::{
    Changes, ChangesSender, DashboardState, EntryTokenCounts, KnownUpdate, Streams, UsageCounts,
};
