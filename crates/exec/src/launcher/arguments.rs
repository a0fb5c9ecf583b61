//! The arguments by which this program knows that it was started as a launcher.

/// The one argument of a launcher.
pub(crate) const MARKER: &str = "repertoire-launcher-e3b0c442";

/// The first argument of a herald; then come the number of its pipe and the command.
#[cfg(target_os = "linux")]
pub(crate) const HERALD: &str = "repertoire-herald-e3b0c442";
