//! Running what a skill brings, confined.
//!
//! A [`Job`] says what is to be run and what it is granted; a [`Sandbox`] runs it and tells the [`Outcome`]. [`probe`] finds out which
//! sandboxes work on this machine. All of them hold to one policy: the skill's directory can be read, one fresh scratch directory
//! can be written, the system's programs can be run, and everything else is invisible or denied: the home directory, other skills, the
//! project unless granted, the network unless granted, other processes, and the environment but for a short list.
//!
//! The confining is done by a *launcher*: this program, started again (see [`launcher`]). It takes the limits upon itself,
//! starts the command from within the confinement, and stays outside to end all that came of it.
//!
//! This is the only place where processes start.

mod job;
pub mod limits;
mod outcome;
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing runs there yet"))]
mod error;
mod sandbox;
pub mod environment;
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing runs there yet"))]
mod file_name;
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing runs there yet"))]
pub mod protected;
#[cfg_attr(not(unix), allow(dead_code, reason = "nothing runs there yet"))]
pub(crate) mod workplace;
#[cfg(unix)]
mod interpreter;
#[cfg(unix)]
pub(crate) mod pinned;
#[cfg(not(unix))]
#[path = "unpinned.rs"]
pub(crate) mod pinned;
mod git;
#[cfg(unix)]
mod listing;
#[cfg(unix)]
mod grant;
#[cfg(unix)]
mod survey;
#[cfg(unix)]
mod sweep;
#[cfg(unix)]
mod scratch;
#[cfg(unix)]
mod reach;
#[cfg(unix)]
mod plan;
pub mod launcher;
#[cfg(unix)]
mod mark;
#[cfg(unix)]
mod tree;
#[cfg(unix)]
mod host;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(any(target_os = "macos", all(test, unix)))]
#[cfg_attr(not(target_os = "macos"), allow(dead_code, reason = "elsewhere only its profile is tested"))]
mod seatbelt;
#[cfg(unix)]
mod none;
mod probe;

pub use error::{ExecError, ExecErrorKind};
pub use git::settings as git_settings;
pub use job::{Cancel, GitUser, Grants, Job, RepositoryGrant};
pub use launcher::Launcher;
pub use limits::Limits;
#[cfg(unix)]
pub use none::Unconfined;
pub use outcome::{Aftermath, Ending, Exceeded, Outcome, Output};
pub use probe::{Found, Probe, probe};
pub use sandbox::Sandbox;
