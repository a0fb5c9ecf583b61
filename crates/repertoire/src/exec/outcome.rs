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
    /// What could not be put right after it had ended. None of it is the command's fault, and none may be overlooked.
    pub aftermath: Vec<Aftermath>,
}

/// Something that could not be put right after a command had ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aftermath {
    /// What it made here could not be looked through: there may be something that agents, shells or git obey.
    NotSwept(PathBuf),
    /// The index, HEAD or refs in this directory of git were changed by somebody else meanwhile, so what the command did there was left out.
    RepositoryChanged(PathBuf),
    /// What the command did could not be carried over to this directory of git, for this reason.
    RepositoryNotWritten(PathBuf, String),
    /// What the command did was carried over to this directory of git, but not these refs and states.
    RepositoryLeftOut(PathBuf, Vec<String>),
}

impl std::fmt::Display for Aftermath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, text) = match self {
            Self::NotSwept(path) => (
                path,
                "what the command made here could not be looked through; look yourself for files that agents, shells or git obey",
            ),
            Self::RepositoryChanged(path) => (
                path,
                "somebody else changed the index, HEAD or a branch meanwhile, so what the command did was left out; look at `git status`, and at `git for-each-ref refs/repertoire/left` for what it committed or stashed",
            ),
            Self::RepositoryNotWritten(path, why) => {
                return write!(
                    f,
                    "{}: what the command did there could not be carried over ({why}); look at `git status`, and at `git for-each-ref refs/repertoire/left` for what it committed or stashed",
                    path.display()
                );
            }
            Self::RepositoryLeftOut(path, what) => {
                let what = what.join(", ");
                return write!(f, "{}: these were not carried over: {what}", path.display());
            }
        };
        write!(f, "{}: {text}", path.display())
    }
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
