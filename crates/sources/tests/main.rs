//! The tests of the crate with real parts: servers and archives.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests look at files")]

mod packages;
