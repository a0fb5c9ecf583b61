//! The trait of all sandboxes.

use std::fmt::Debug;

use crate::{ExecError, Job, Outcome};

/// Runs commands of skills, confined.
///
/// The tests in `crates/cli/tests/escape` hold every implementation to the same behaviour.
pub trait Sandbox: Send + Sync + Debug {
    /// Returns what it is called: `bubblewrap`, `landlock`, `seatbelt` or `none`.
    fn name(&self) -> &'static str;

    /// Runs a job to its end and returns what it came to. Blocks until nothing of it is left running.
    ///
    /// A command that fails, is killed or takes too long is an [`Outcome`]. An error means that it was not run: the job asks for what no
    /// job may have, the command is not there, or the sandbox does not work.
    fn run(&self, job: &Job) -> Result<Outcome, ExecError>;
}
