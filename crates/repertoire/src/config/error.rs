//! Errors of configuration files.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// An error that keeps the configuration from being loaded.
#[derive(Debug)]
pub struct ConfigError {
    message: String,
    hint: Option<String>,
    file: Option<Box<FaultyFile>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// A configuration file with errors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultyFile {
    /// The path of the file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Its errors, in order.
    pub faults: Vec<ConfigFault>,
}

/// An error in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigFault {
    /// The bytes of the file it is about.
    pub range: Range<usize>,
    /// The error.
    pub message: String,
    /// A hint.
    pub help: Option<String>,
}

impl ConfigError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, file: None, source: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(super) fn because(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(source)), ..self }
    }

    pub(super) fn of_file(file: FaultyFile) -> Self {
        let first = file.faults.first().map(|fault| fault.message.as_str()).unwrap_or_default();
        let error = Self::new(format!("{}: {first}", file.path.display()));
        Self { file: Some(Box::new(file)), ..error }
    }

    /// Returns the message, one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what to do about it.
    pub fn help(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the file with errors, if it is about the contents of one.
    pub fn file(&self) -> Option<&FaultyFile> {
        self.file.as_deref()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}
