//! A library: a registry of skills together with everything that sessions are given.

mod options;
mod handle;
mod builder;
mod search;

pub use builder::LibraryBuilder;
pub use handle::Library;
