//! Confined by nothing but limits, for those who ask for it by name.

use crate::launcher::plan::Confinement;
use crate::sandbox::host;
use crate::sandbox::host::ProtectionMeans;
use crate::{ExecError, Job, Launcher, Outcome, Sandbox};

/// Runs commands with all the rights of whoever runs it. Limits, the clean environment and the scratch directory are the same as elsewhere, and so is the end of
/// everything it started; nothing else is.
///
/// No probe finds it. It is for those who know what they run.
#[derive(Debug, Clone)]
pub struct Unconfined {
    launcher: Launcher,
}

impl Unconfined {
    /// Returns it.
    pub fn new(launcher: Launcher) -> Self {
        Self { launcher }
    }
}

impl Sandbox for Unconfined {
    fn name(&self) -> &'static str {
        "none"
    }

    fn run(&self, job: &Job) -> Result<Outcome, ExecError> {
        host::run(&self.launcher, job, ProtectionMeans::Nothing, |_, _| Ok(Confinement::None))
            .map(|(outcome, _)| outcome)
    }
}
