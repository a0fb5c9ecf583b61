//! The clock; asking for the time on `wasm32-unknown-unknown`, which does not have one, would panic.

use std::time::{Duration, SystemTime};

/// Returns the current time, or the Unix epoch on a system without a clock.
pub(crate) fn now() -> SystemTime {
    if HAS_CLOCK { SystemTime::now() } else { SystemTime::UNIX_EPOCH }
}

/// Returns the number of this process, or 0 on a system without processes.
pub(crate) fn process_id() -> u32 {
    if HAS_CLOCK { std::process::id() } else { 0 }
}

const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// A point in time; on a system without a clock no time ever passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant(Option<std::time::Instant>);

impl Instant {
    pub(crate) fn now() -> Self {
        Self(HAS_CLOCK.then(std::time::Instant::now))
    }

    /// Returns the time that has passed since.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.map(|instant| instant.elapsed()).unwrap_or_default()
    }
}
