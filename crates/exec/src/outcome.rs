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
    /// The commits of the command could not be transferred to this directory of git, for this reason.
    RepositoryNotWritten(PathBuf, String),
    /// These refs of the command were not applied to a directory of git, each with the reason.
    RepositoryNotApplied {
        /// The directory of git.
        directory: PathBuf,
        /// The names of the refs, with the reason in brackets.
        refs: Vec<String>,
        /// Where the commits they lead to are recorded: `refs/repertoire/<run>`.
        record: String,
    },
    /// The index of a directory of git was reset to the new commit, because it had other changes of the same files.
    StagedChangesReset {
        /// The directory of git.
        directory: PathBuf,
        /// The ref of the tree that was staged before.
        record: String,
    },
    /// The index of this directory of git is still that of the commit before, for this reason.
    IndexNotUpdated(PathBuf, String),
}

impl std::fmt::Display for Aftermath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSwept(path) => write!(
                f,
                "{}: what the command made here could not be looked through; look yourself for files that agents, shells or git obey",
                path.display()
            ),
            Self::RepositoryNotWritten(path, why) => {
                write!(f, "{}: the command's commits could not be transferred ({why})", path.display())
            }
            Self::RepositoryNotApplied { directory, refs, record } => write!(
                f,
                "{}: not applied: {}; their commits are recorded under {record}",
                directory.display(),
                refs.join(", ")
            ),
            Self::StagedChangesReset { directory, record } => write!(
                f,
                "{}: the command committed other changes of files that were staged; the index was reset, and `git read-tree {record}` brings back what was staged",
                directory.display()
            ),
            Self::IndexNotUpdated(path, why) => write!(
                f,
                "{}: the index could not be updated to the new commit ({why}); `git reset` does it",
                path.display()
            ),
        }
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
    /// The beginning, up to [`Limits::output`](crate::Limits::output) bytes.
    pub bytes: Vec<u8>,
    /// How many bytes came after that.
    pub dropped: u64,
}
