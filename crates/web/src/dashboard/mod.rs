//! The dashboard: its options, what its host tells it, and the senders of requests.

mod host;
mod options;
mod state;
mod asker;

pub(crate) use asker::{Asker, WriteRefusal, is_equal};
pub use host::{Decision, Host, NewestVersion, SkillOrigin};
pub use options::DashboardOptions;
pub(crate) use state::{
    Changes, ChangesSender, DashboardState, EntryTokenCounts, KnownUpdate, Streams, UsageCounts,
};
