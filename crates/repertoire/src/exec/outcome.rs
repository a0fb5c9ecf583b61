//! What a job came to.

use std::path::PathBuf;
use std::time::Duration;

/// What a job came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How the command ended.
    pub ending: Ending,
    /// What it wrote to its standard output.
    pub stdout: Output,
    /// What it wrote to its standard error.
    pub stderr: Output,
    /// The wall-clock time from before the start until nothing of it was left.
    pub elapsed: Duration,
    /// What it made under names that no command may write, where that could only be seen afterwards: where these things are now.
    pub refused: Vec<PathBuf>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It ended by itself, with this status.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It took longer than it may.
    TimedOut,
    /// Another thread wanted it ended.
    Cancelled,
    /// It used more than it may, and was ended for that.
    Exceeded(Exceeded),
}

impl Ending {
    /// Returns whether the command ended by itself with status 0.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

/// What a command used more of than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// Memory of all its processes together.
    Memory,
    /// Processes and threads.
    Processes,
    /// What it wrote to its scratch directory.
    Disk,
}

/// What a command wrote, as far as it was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// The beginning, up to [`Limits::output`](crate::exec::Limits::output) bytes.
    pub bytes: Vec<u8>,
    /// How many bytes came after that.
    pub dropped: u64,
}
