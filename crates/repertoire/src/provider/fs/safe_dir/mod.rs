//! A handle on a directory that opens files beneath it, and no others.
//!
//! Names are never joined to absolute paths: every open starts at a handle, follows no symbolic link, does
//! not leave the handle's file system, does not block, and yields regular files only. So a directory that is
//! swapped for a link between two looks cannot lead a read astray.

mod types;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(not(target_os = "linux"), test))]
mod portable;
#[cfg(all(test, unix))]
mod tests;

#[cfg(target_os = "linux")]
pub(crate) use linux::SafeDir;
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::SafeDir;
pub(crate) use types::{DirectoryEntry, Entries, EntryKind, FsFault, Stamp, now};
