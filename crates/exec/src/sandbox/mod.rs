//! Sandboxes: the trait, three implementations, and a probe that finds the ones that work on this machine.

mod backend;
#[cfg(unix)]
mod host;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
pub(crate) mod landlock;
#[cfg(any(target_os = "macos", all(test, unix)))]
#[cfg_attr(
    not(target_os = "macos"),
    allow(dead_code, reason = "on other systems only its profile is tested")
)]
mod seatbelt;
#[cfg(unix)]
mod unconfined;
mod probe;

pub use backend::Sandbox;
pub use probe::{Probe, ProbedSandbox, probe};
#[cfg(unix)]
pub use unconfined::UnconfinedSandbox;
