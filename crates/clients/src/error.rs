//! The one error of this crate.

use std::fmt;
use std::io;
use std::path::Path;

/// The error of an operation.
///
/// It is opaque so that new causes do not break callers: match on [`Error::kind`].
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hints: Vec<String>,
    core: Option<Box<repertoire::Error>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request cannot be met for this client or on this machine.
    InvalidRequest,
    /// A file is left alone: it is not ours, not understood, changed by others, or leads out of the project.
    Refused,
    /// The operating system reported an error.
    Io,
    /// The core reported an error, which [`Error::into_core`] returns.
    Core,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), core: None, source: None }
    }

    /// Returns the error of a request that cannot be met.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// Returns the error of something that is left alone.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// Returns the error of an action at `path` that failed.
    pub(crate) fn io(action: &str, path: &Path, source: io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("cannot {action} {}", path.display())).because(source)
    }

    /// Returns this error with the one that caused it.
    #[must_use]
    pub(crate) fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns this error with a hint for the person who can act on it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the error of the core, if it is one, without the hints of this crate.
    pub fn into_core(self) -> Result<repertoire::Error, Self> {
        match self {
            Self { core: Some(core), .. } => Ok(*core),
            other => Err(other),
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns what a person can do about it.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.core {
            Some(core) => core.fmt(f),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.core {
            Some(core) => core.source(),
            None => self.source.as_deref().map(|source| -> &(dyn std::error::Error + 'static) { source }),
        }
    }
}

impl From<repertoire::Error> for Error {
    fn from(error: repertoire::Error) -> Self {
        Self { core: Some(Box::new(error)), ..Self::new(ErrorKind::Core, String::new()) }
    }
}
