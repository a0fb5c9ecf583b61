//! Tags every process of a run with a unique `RLIMIT_RTTIME`, so that strays can be found and killed.
//!
//! The launcher ends all that came of a command. Should it be killed itself, the host finds what is left by this tag: a process can neither change nor drop it.

use std::hash::{BuildHasher, Hasher};

/// The least number; far more than any program means by this limit, which is a time.
const LEAST: u64 = 1 << 61;

/// Returns a number that nobody knows beforehand.
pub(crate) fn random() -> u64 {
    // The keys of this are the system's random numbers.
    std::hash::RandomState::new().build_hasher().finish()
}

/// Returns a tag for a run.
pub(crate) fn fresh() -> u64 {
    LEAST | (random() >> 4)
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{kill_tagged, put_on};

#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub(crate) fn put_on(_mark: u64) {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_tagged(_mark: u64) {}
