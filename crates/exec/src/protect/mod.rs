//! Protected names: files that agents, shells, editors and git obey stay as they are in writable directories.
//!
//! `before` finds the protected files in a directory to be granted; `writable` decides. `during` watches
//! while the command runs, and `after` renames files that it created under protected names. Both need only
//! the `entry::ProtectedEntry` values of `before`. `put_back` returns what the user checked out meanwhile.

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
