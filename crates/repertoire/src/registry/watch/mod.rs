//! Following the library while it changes: by events of the file system, by polling, on use, or not at all.
//!
//! A [`Watcher`] is one thread. It watches the directories of skills and of sources, never whole trees; batches what
//! happens to them; and has the registry look again at exactly what was touched. What cannot be watched is polled, and
//! that is said. On Linux the system's events come straight from inotify, because a watch on everything that the portable
//! way reports would be woken by every file that is opened, its own reading included.

mod options;
mod attention;
mod pace;
mod batch;
mod notice;
mod system;
mod points;
mod follow;
mod state;
mod watcher;

pub(super) use attention::Attention;
pub use options::{MAX_WATCHES, ReloadMode, ReloadOptions};
pub use state::{Following, PollReason, SourceState};
pub use watcher::Watcher;
