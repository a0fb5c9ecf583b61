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
mod error;
mod sandbox;
pub mod environment;
pub mod launcher;
mod probe;

pub use error::{ExecError, ExecErrorKind};
pub use job::{Cancel, Grants, Job};
pub use launcher::Launcher;
pub use limits::Limits;
pub use outcome::{Ending, Exceeded, Outcome, Output};
pub use probe::{Found, Probe, probe};
pub use sandbox::Sandbox;
