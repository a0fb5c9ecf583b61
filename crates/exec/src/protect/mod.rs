//! Protected names: files that agents, shells, editors and git obey stay as they are in a directory that a command may write.
//!
//! `before` finds the protected files in a directory that is to be granted, and `writable` decides on the grant. `during` watches
//! the directory while the command runs, and `after` renames files that the command created under protected names. Both need
//! only the `entry::ProtectedEntry` values that `before` found. `put_back` returns files that the user checked out meanwhile.

#[cfg(unix)]
pub(crate) mod after;
#[cfg(unix)]
mod before;
#[cfg(target_os = "linux")]
pub(crate) mod during;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "during_stub.rs"]
pub(crate) mod during;
#[cfg(unix)]
pub(crate) mod entry;
mod file_name;
#[cfg(unix)]
mod listing;
pub mod names;
#[cfg(unix)]
pub(crate) mod put_back;
#[cfg(unix)]
pub(crate) mod writable;
