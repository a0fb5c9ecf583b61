//! Records of running jobs on systems where nothing runs: there are no records.

use std::path::{Path, PathBuf};

/// The result of [`finish_interrupted_runs`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterruptedRuns {
    /// Files that commands had created under protected names, by the paths they were renamed to.
    pub renamed: Vec<PathBuf>,
    /// Paths that could not be checked or renamed.
    pub unchecked: Vec<PathBuf>,
}

pub(crate) fn directory(state: &Path) -> PathBuf {
    state.join("running")
}

/// Completes the clean-up of runs whose program was killed; there are no such runs here.
pub fn finish_interrupted_runs(_state: &Path) -> InterruptedRuns {
    InterruptedRuns::default()
}
