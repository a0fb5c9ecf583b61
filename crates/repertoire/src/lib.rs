//! The skills engine for AI agents.
//!
//! Point providers at skills, merge them in a registry, and give agents a small, byte-stable catalog.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod discovery;
pub mod error;
pub mod provider;
pub mod registry;
#[doc(hidden)]
pub mod testing;

pub use error::{Error, ErrorKind};
pub use provider::Provider;
pub use registry::{Entry, Lookup, Registry, Snapshot};
pub use repertoire_model as model;
