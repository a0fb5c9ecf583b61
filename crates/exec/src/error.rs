//! Why a job was not run.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a job was not run.
#[derive(Debug)]
pub struct ExecError {
    kind: ExecErrorKind,
    path: Option<PathBuf>,
    detail: Option<String>,
    source: Option<std::io::Error>,
}

/// The kinds of reasons why a job was not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum ExecErrorKind {
    /// The job has no command, or paths that are not absolute or not there.
    InvalidJob,
    /// It asks for a grant that no job may have.
    GrantRefused,
    /// The repository it is granted is none, or not one that belongs to the checkout.
    Repository,
    /// Its arguments and variables are longer than a command can be given.
    TooLong,
    /// The program is neither in the skill nor in `PATH`.
    CommandNotFound,
    /// The program was found and could not be started.
    CommandFailed,
    /// The sandbox does not work here.
    Unavailable,
    /// The launcher could not be started, or did not do what it should.
    Launcher,
    /// Input or output failed.
    Io,
}

impl ExecError {
    pub(crate) fn new(kind: ExecErrorKind) -> Self {
        Self { kind, path: None, detail: None, source: None }
    }

    pub(crate) fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    pub(crate) fn saying(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub(crate) fn because(mut self, source: std::io::Error) -> Self {
        self.source = Some(source);
        self
    }

    /// Returns what went wrong.
    pub fn kind(&self) -> ExecErrorKind {
        self.kind
    }

    /// Returns what there is to say about it, without any path.
    pub(crate) fn detail(&self) -> &str {
        self.detail.as_deref().unwrap_or("it cannot be read")
    }

    /// Returns the path it is about.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ExecErrorKind::InvalidJob => "not a job that can be run",
            ExecErrorKind::GrantRefused => "no command may have this",
            ExecErrorKind::Repository => "the git repository cannot be used",
            ExecErrorKind::TooLong => "arguments or variables are too long",
            ExecErrorKind::CommandNotFound => "command not found",
            ExecErrorKind::CommandFailed => "command could not be started",
            ExecErrorKind::Unavailable => "the sandbox does not work here",
            ExecErrorKind::Launcher => "the launcher failed",
            ExecErrorKind::Io => "input or output failed",
        })?;
        if let Some(path) = &self.path {
            write!(f, " ({})", path.display())?;
        }
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ExecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}
