//! The arguments that start this program as a launcher or as the init process of a sandbox.

/// The only argument of a launcher.
pub(crate) const LAUNCHER_ARGUMENT: &str = "repertoire-launcher-e3b0c442";

/// The first argument of an init process; the file descriptor of its pipe and the command follow.
#[cfg(target_os = "linux")]
pub(crate) const INIT_ARGUMENT: &str = "repertoire-init-e3b0c442";
