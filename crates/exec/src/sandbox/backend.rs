//! The trait of all sandboxes.

use std::fmt::Debug;

use crate::{ExecError, Job, RunOutcome};

/// Runs commands of skills in confinement.
///
/// The tests in `crates/cli/tests/escape` check that every implementation behaves the same.
pub trait Sandbox: Send + Sync + Debug {
    /// Returns its name: `bubblewrap`, `landlock`, `seatbelt` or `none`.
    fn name(&self) -> &'static str;

    /// Runs a job and returns its outcome. Blocks until all its processes are gone.
    ///
    /// A command that fails, is killed or times out is a [`RunOutcome`]. An error means that it was not run:
    /// a grant was refused, the program was not found, or the sandbox does not work.
    fn run(&self, job: &Job) -> Result<RunOutcome, ExecError>;
}
