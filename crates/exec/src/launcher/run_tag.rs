//! Tags every process of a run with a unique `RLIMIT_RTTIME`, so that orphans can be found and killed.
//!
//! The launcher kills all processes of a command. If the launcher itself is killed, the host finds the
//! remaining processes by this tag. The seccomp filter keeps them from changing it.

use std::hash::{BuildHasher, Hasher};

/// The smallest tag. The limit is a time in microseconds; no program sets one this large.
const MIN_TAG: u64 = 1 << 61;

/// Returns an unpredictable number.
pub(crate) fn random() -> u64 {
    // `RandomState` takes its keys from the system's random number generator.
    std::hash::RandomState::new().build_hasher().finish()
}

pub(crate) fn fresh() -> u64 {
    MIN_TAG | (random() >> 4)
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{kill_tagged, tag_this_process};

#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub(crate) fn tag_this_process(_tag: u64) {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_tagged(_tag: u64) {}
