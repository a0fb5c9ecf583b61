//! Skills in a directory: `<root>/<skill>/SKILL.md`.
//!
//! The root is configured and trusted; everything below it is not. Files are opened beneath handles, never by
//! joined paths (`safe_dir`); scans, listings and files are bounded ([`limits`], [`super::limits`]); broken
//! skills are reported and never keep the rest from loading.

mod options;
mod past_versions;
pub mod limits;
pub(crate) mod safe_dir;
mod place;
mod manifest;
mod last_good;
mod scan;
mod walk;
mod source;
mod watch_points;
mod provider;
#[cfg(all(test, unix))]
mod tests;

pub(crate) use limits::STAGING;
pub use limits::{LinkScope, ScanLimits};
pub use options::FsOptions;
pub use past_versions::{PastManifest, PastVersions};
pub use provider::FsProvider;
pub(crate) use provider::holds_skills;
