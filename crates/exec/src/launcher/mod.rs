//! The launcher: the process that confines a command, starts it, and kills all its processes at the end.
//!
//! It is this program, started again with one fixed argument and a socket as its standard input. The plan is
//! sent over the socket; the arguments of the launcher never contain anything from a skill.

mod arguments;
#[cfg(unix)]
mod confine;
mod entry;
#[cfg(target_os = "linux")]
mod init;
#[cfg(unix)]
pub(crate) mod plan;
#[cfg(unix)]
pub(crate) mod process_tree;
#[cfg(unix)]
pub(crate) mod run_tag;
#[cfg(target_os = "linux")]
pub(crate) mod seccomp;
#[cfg(unix)]
mod supervise;

#[cfg(unix)]
pub(crate) use arguments::LAUNCHER_ARGUMENT;
pub use entry::{Launcher, run_if_asked};
