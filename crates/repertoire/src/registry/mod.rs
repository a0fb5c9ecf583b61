//! All sources together: providers merged by precedence under a policy, published as numbered snapshots.

mod open;
mod visible_cache;
mod snapshot;
mod visible;
mod pinned_entry;
mod catalog;
mod entry_tokens;
mod notices;
mod check;
mod publication;
mod requires;
mod resources;
mod change;
mod signals;
mod subscription;
mod freshness;
mod releases;
pub mod watch;
#[cfg(test)]
mod tests;

pub use change::{Aspect, Change};
pub use entry_tokens::EntryTokens;
pub use open::{Registry, RegistryOptions};
pub use pinned_entry::PinnedEntry;
pub use publication::Publication;
pub use releases::ReleaseFollower;
pub(crate) use requires::{cycle, required};
pub use resources::available_files;
pub use snapshot::{Entry, Lookup, Route, Snapshot, package_of};
pub(crate) use snapshot::{holder, nearest_among, respelled, told_source};
pub use subscription::Subscription;
pub use visible::VisibleSkills;
#[cfg(feature = "fs")]
pub use watch::Watcher;
pub use watch::{ReloadMode, ReloadOptions};
