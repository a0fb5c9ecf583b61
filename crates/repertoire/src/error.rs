//! The one error of this crate.

use std::fmt;
use std::path::{Path, PathBuf};

use repertoire_model::{Diagnostic, PathFault};

/// The error of an operation.
///
/// It is opaque so that new causes do not break callers: match on [`Error::kind`]. Names and paths are kept
/// as fields; surfaces turn the kind into an exit code, a status or a protocol error in one table each.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    subject: Option<String>,
    path: Option<PathBuf>,
    /// The action that failed at the path, as a verb.
    action: Option<&'static str>,
    diagnostics: Vec<Diagnostic>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No skill has this name.
    SkillNotFound,
    /// The skill has no such file.
    FileNotFound,
    /// The path leads to a directory.
    IsDirectory,
    /// The path is not one a skill may have, or leads to something that is never read: a hidden file, a
    /// symbolic link, a device.
    Forbidden,
    /// The file is larger than the limit.
    TooLarge,
    /// A skill defined in code is not valid.
    InvalidSkill,
    /// An agent's definition does not go with the skills that there are.
    InvalidAgent,
    /// A role cannot have this name.
    InvalidRole,
    /// A template cannot be rendered.
    InvalidTemplate,
    /// The policy in force refuses the whole library because of one skill.
    Refused,
    /// A tool may not have this name.
    ReservedName,
    /// No agent has this name.
    AgentNotFound,
    /// A record of this program cannot be read, or a newer version wrote it; it is left alone.
    Record,
    /// The skill changed while it was being read.
    SkillChanged,
    /// The store cannot be reached, opened or written.
    Store,
    /// Stored content is missing or does not have its digest.
    Corrupt,
    /// The file or directory was changed since it was read, and is left alone.
    FileChanged,
    /// A file or directory is where another one would be made.
    AlreadyThere,
    /// Another process changes the same files.
    Busy,
    /// The file is read-only, and is left alone.
    ReadOnly,
    /// The file belongs to somebody else, to whom a new file cannot be given, and is left alone.
    ForeignOwner,
    /// The operating system reported an error.
    Io,
}

impl Error {
    /// Returns an error of `kind` about nothing in particular.
    pub fn new(kind: ErrorKind) -> Self {
        Self { kind, subject: None, path: None, action: None, diagnostics: Vec::new(), source: None }
    }

    /// Returns the error of `action`, a verb, at `path` that failed.
    #[cfg(feature = "fs")]
    pub(crate) fn io(
        action: &'static str,
        path: &Path,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { action: Some(action), ..Self::new(ErrorKind::Io).at(path).because(source) }
    }

    /// Returns this error about the skill or file called `subject`.
    #[must_use]
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Returns this error with the path it is about.
    #[must_use]
    pub fn at(mut self, path: impl AsRef<Path>) -> Self {
        self.path = Some(path.as_ref().to_owned());
        self
    }

    /// Returns this error with the one that caused it.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns this error with the findings of the rules.
    #[must_use]
    pub fn with(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        self.diagnostics = diagnostics;
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the skill or file it is about.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Returns the path on the file system it is about.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the findings of the rules, if they are the cause.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the error that caused this one.
    pub fn into_source(self) -> Option<Box<dyn std::error::Error + Send + Sync>> {
        self.source
    }

    /// Returns this error and everything that caused it, in one line.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text = format!("{text}: {error}");
            source = error.source();
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.path.as_deref().map(Path::display) {
            match (self.kind, self.action, &self.subject) {
                (_, Some(action), _) => return write!(f, "cannot {action} {path}"),
                (ErrorKind::Record, ..) => return write!(f, "cannot read the record {path}"),
                (ErrorKind::FileChanged, ..) => return write!(f, "{path} was changed meanwhile"),
                (ErrorKind::AlreadyThere, ..) => return write!(f, "{path} is already there"),
                (ErrorKind::ReadOnly, ..) => return write!(f, "{path} is read-only and left alone"),
                (ErrorKind::ForeignOwner, _, Some(owner)) => {
                    return write!(
                        f,
                        "{path} belongs to {owner}, which it would not any more; it is left alone"
                    );
                }
                _ => {}
            }
        }
        f.write_str(match self.kind {
            ErrorKind::SkillNotFound => "skill not found",
            ErrorKind::FileNotFound => "file not found",
            ErrorKind::IsDirectory => "not a file but a directory",
            ErrorKind::Forbidden => "file may not be read",
            ErrorKind::TooLarge => "file is too large",
            ErrorKind::InvalidSkill => "skill is not valid",
            ErrorKind::InvalidAgent => "agent is not valid",
            ErrorKind::InvalidRole => "not a name that a role can have",
            ErrorKind::InvalidTemplate => "template cannot be rendered",
            ErrorKind::Refused => "the policy refuses this library",
            ErrorKind::ReservedName => "a tool may not be called that",
            ErrorKind::AgentNotFound => "agent not found",
            ErrorKind::Record => "a record cannot be read",
            ErrorKind::SkillChanged => "the skill changed meanwhile",
            ErrorKind::Store => "the store is not available",
            ErrorKind::Corrupt => "stored content is damaged",
            ErrorKind::FileChanged => "the file was changed meanwhile",
            ErrorKind::AlreadyThere => "the file is already there",
            ErrorKind::Busy => "another process changes the same files",
            ErrorKind::ReadOnly => "the file is read-only and left alone",
            ErrorKind::ForeignOwner => "the file belongs to somebody else and is left alone",
            ErrorKind::Io => "input or output failed",
        })?;
        if let Some(subject) = &self.subject {
            write!(f, ": {subject}")?;
        }
        if let Some(path) = &self.path {
            write!(f, " ({})", path.display())?;
        }
        if let Some(diagnostic) = self.diagnostics.first() {
            write!(f, ": {}", diagnostic.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

impl From<PathFault> for Error {
    fn from(fault: PathFault) -> Self {
        Self::new(ErrorKind::Forbidden).because(fault)
    }
}
