//! The two ways in which the reference fails: with a message of its own, or with a Python traceback.

use std::fmt;

/// Why properties could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The reference's own complaint, as it stands after `Error: `.
    Skill(String),
    /// The Python program stops with a traceback.
    Crash(Crash),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skill(message) => f.write_str(message),
            Self::Crash(crash) => crash.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<Crash> for Error {
    fn from(crash: Crash) -> Self {
        Self::Crash(crash)
    }
}

/// An exception that the reference does not catch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    last_line: String,
}

impl Crash {
    pub(super) fn new(last_line: impl Into<String>) -> Self {
        Self { last_line: last_line.into() }
    }

    /// Returns the last line of the traceback: the exception's name and text.
    pub fn last_line(&self) -> &str {
        &self.last_line
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.last_line)
    }
}

impl std::error::Error for Crash {}
