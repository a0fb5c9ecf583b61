//! Protected names: files that agents, shells, editors and git obey stay as they are in a directory that a command may write.
//!
//! `before` finds the protected files in a directory that is to be granted, `writable` decides on the grant, and `after` renames
//! files that the command created under protected names. `after` needs only the `entry::ProtectedEntry` values that
//! `before` found.

#[cfg(unix)]
pub(crate) mod after;
#[cfg(unix)]
mod before;
#[cfg(unix)]
pub(crate) mod entry;
mod file_name;
#[cfg(unix)]
mod listing;
pub mod names;
#[cfg(unix)]
pub(crate) mod writable;
