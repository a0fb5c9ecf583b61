//! The error type of this crate.

use std::fmt;

/// An error of the server of MCP.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// The kind of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The library or an agent is invalid; see the source.
    Library,
    /// The operating system reported an error.
    Io,
}

impl Error {
    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ErrorKind::Library => "the library cannot be served",
            ErrorKind::Io => "the operating system reported an error",
        })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

impl From<repertoire::Error> for Error {
    fn from(error: repertoire::Error) -> Self {
        Self { kind: ErrorKind::Library, source: error.into() }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self { kind: ErrorKind::Io, source: error.into() }
    }
}
