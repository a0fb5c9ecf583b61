//! The sandboxes at work: what every one must do, and what none may let happen.
//!
//! Each of the probes is first shown to succeed without a sandbox, in a place made for it, and then to fail in every sandbox
//! that this machine has. Which it has not is said loudly.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that fails says where, and its files and victims are its own"
)]

#[path = "escape/world.rs"]
mod world;
#[path = "escape/conformance.rs"]
mod conformance;
