//! The sandbox `none`, which only has resource limits.

use crate::launcher::plan::Confinement;
use crate::sandbox::host;
use crate::sandbox::host::ProtectionMeans;
use crate::{ExecError, Job, Launcher, RunOutcome, Sandbox};

/// Runs commands with all rights of the current user. Only the resource limits, the environment variables,
/// the scratch directory and the killing of all processes at the end are those of a sandbox.
///
/// [`probe`](crate::probe) never finds it.
#[derive(Debug, Clone)]
pub struct UnconfinedSandbox {
    launcher: Launcher,
}

impl UnconfinedSandbox {
    /// Returns a sandbox that confines nothing.
    pub fn new(launcher: Launcher) -> Self {
        Self { launcher }
    }
}

impl Sandbox for UnconfinedSandbox {
    fn name(&self) -> &'static str {
        "none"
    }

    fn run(&self, job: &Job) -> Result<RunOutcome, ExecError> {
        host::run(&self.launcher, job, ProtectionMeans::None, |_, _| Ok(Confinement::None))
            .map(|(outcome, _)| outcome)
    }
}
