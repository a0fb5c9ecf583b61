//! The outcome of a job.

use std::path::PathBuf;

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The end of the command.
    pub ending: RunEnding,
    /// Its standard output.
    pub stdout: Output,
    /// Its standard error.
    pub stderr: Output,
    /// Files and directories that a command created under protected names, by the paths they were renamed to.
    pub refused: Vec<PathBuf>,
    /// Problems after the end of the command that a person has to know about.
    pub cleanup_problems: Vec<CleanupProblem>,
}

/// A problem after the end of a command.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CleanupProblem {
    /// This path could not be searched for protected names: agents, shells or git may obey files in it.
    #[error("{}: files that the command created here could not be checked; look for files that agents, shells or git obey", .0.display())]
    NotSwept(PathBuf),
    /// This protected file was replaced on the host during the command, which could write it until killed.
    #[error("{}: replaced while the command ran, which could write it until it was killed; look at its content", .0.display())]
    ProtectedFileReplaced(PathBuf),
    /// This file under a protected name appeared while the command ran, as the current commit has it: the
    /// user checked it out. It was moved away and is there again.
    #[error("{}: appeared while the command ran, as the current commit has it, and was left alone", .0.display())]
    CheckedOut(PathBuf),
    /// The command removed this symbolic link under a protected name.
    #[error("{}: the command removed this link; {}; look at what it leads to", .path.display(), if *.is_restored { "it was restored" } else { "it could not be restored" })]
    ProtectedLinkRemoved {
        /// The path of the link.
        path: PathBuf,
        /// `true` if the link is there again.
        is_restored: bool,
    },
}

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum RunEnding {
    /// It exited with this status.
    Exited(i32),
    /// It was killed by this signal.
    Signalled(i32),
    /// It was killed at the timeout.
    TimedOut,
    /// It was cancelled.
    Cancelled,
    /// It exceeded this limit and was killed.
    Exceeded(ExceededLimit),
    /// A file was created or replaced under a protected name, and it was killed unless it had just ended.
    ProtectedName,
}

impl RunEnding {
    /// Returns whether the command exited with status 0.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

/// The limit that a command exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ExceededLimit {
    /// The memory of all processes together.
    Memory,
    /// The number of processes and threads.
    Processes,
    /// The size of the scratch directory.
    Disk,
}

/// Standard output or standard error of a command, as far as it was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// The beginning, up to [`JobLimits::output`](crate::JobLimits::output) bytes.
    pub bytes: Vec<u8>,
    /// The number of further bytes, which were dropped.
    pub dropped: u64,
}
