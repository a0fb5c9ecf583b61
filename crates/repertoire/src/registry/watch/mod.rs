//! Follows the library while it changes: by events of the file system, by polling, on use, or not at all.
//!
//! A [`Watcher`], one thread, watches the directories of skills and of sources, never whole trees. Events
//! only say *that* something changed: after a debounce the registry reloads, at one stat for each unchanged
//! skill. Reloads at intervals find what late or lost events missed. Sources that cannot be watched are
//! polled.

mod options;
#[cfg(feature = "fs")]
mod relevance;
#[cfg(feature = "fs")]
mod inbox;
#[cfg(feature = "fs")]
mod watch_set;
#[cfg(feature = "fs")]
mod follow;
#[cfg_attr(not(feature = "fs"), allow(dead_code))]
mod state;
#[cfg(feature = "fs")]
mod watcher;

pub use options::{MAX_WATCHES, ReloadMode, ReloadOptions};
pub(super) use state::WatcherState;
pub use state::{FollowMethod, PollReason, SourceState};
#[cfg(feature = "fs")]
pub use watcher::Watcher;
