//! Disables skills for clients that read them from files, and in the list of a configuration file.

mod matched;
mod client_switch;
mod record;
mod client_changes;
mod disabled_list;

pub use client_changes::{ChangeKind, ChangeLine, ChangeState, ClientChanges, still_read};
pub use client_switch::has_switch;
pub use disabled_list::DisabledList;
pub use matched::{is_match, matched};

pub(crate) use record::RecordedChange;
