//! Protected names: files that agents, shells, editors and git obey stay as they are in a directory that a command may write.
//!
//! `before` finds what is protected in a directory that is to be granted, `writable` decides on the grant, and `after` renames
//! what the command made under a protected name. Both ends work with `entry::ProtectedEntry`; what is found before the run is all
//! that is needed after it.

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
