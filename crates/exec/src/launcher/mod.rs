//! The process that confines a command, starts it, and ends all that came of it.
//!
//! It is this program, started again with one fixed argument and a socket for its standard input, over which the plan comes. Nothing
//! of a skill is ever among its arguments.

mod arguments;
#[cfg(unix)]
mod confine;
mod entry;
#[cfg(target_os = "linux")]
mod herald;
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
pub(crate) use arguments::MARKER;
pub use entry::{Launcher, run_if_asked};
