//! The error of a job that was not run.

use std::fmt;
use std::path::{Path, PathBuf};

/// The error of a job that was not run.
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
    /// The job has no command, or a path that is not absolute or does not exist.
    InvalidJob,
    /// The job asks for a grant that no job may have.
    GrantRefused,
    /// The granted repository is invalid, does not belong to the checkout, or cannot be used now.
    Repository,
    /// The arguments and variables are longer than the system allows.
    TooLong,
    /// The program is neither in the skill nor in `PATH`.
    CommandNotFound,
    /// The program was found but could not be started.
    CommandFailed,
    /// The functions of a Python module could not be read.
    Python,
    /// The sandbox does not work here.
    Unavailable,
    /// The launcher could not be started, or broke the protocol.
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

    /// Returns the kind of error.
    pub fn kind(&self) -> ExecErrorKind {
        self.kind
    }

    /// Returns the detail without the path.
    pub(crate) fn detail(&self) -> &str {
        self.detail.as_deref().unwrap_or("it cannot be read")
    }

    /// Returns the path that the error is about.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ExecErrorKind::InvalidJob => "invalid job",
            ExecErrorKind::GrantRefused => "grant refused",
            ExecErrorKind::Repository => "the git repository cannot be used",
            ExecErrorKind::TooLong => "arguments or variables are too long",
            ExecErrorKind::CommandNotFound => "command not found",
            ExecErrorKind::CommandFailed => "command could not be started",
            ExecErrorKind::Python => "its functions cannot be read",
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
