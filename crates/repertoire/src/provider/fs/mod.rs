//! Skills in a directory: `<root>/<skill>/SKILL.md`.
//!
//! The root is configured and trusted; everything below it is not. Files are opened beneath handles, never by joined
//! paths (`safe_dir`); scans, listings and files are bounded ([`limits`], [`super::limits`]); what is broken is
//! reported and never keeps the rest from loading.

mod cache;
pub mod limits;
mod manifest;
mod turn;
mod known;
mod amend;
mod list;
mod last_good;
mod memo;
mod open;
mod place;
mod root_entries;
pub(crate) mod safe_dir;
mod scan;
mod walk;
mod watch_points;
mod provider;
#[cfg(all(test, unix))]
mod tests;

pub use limits::{LinkScope, ScanLimits};
pub(crate) use provider::holds_skills;
pub use provider::{FsOptions, FsProvider};
