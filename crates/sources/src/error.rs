//! The one error of this crate.

use std::fmt;
use std::io;
use std::path::Path;

use repertoire::change::FailedChange;

/// The error of an operation.
///
/// It is opaque so that new causes do not break callers: match on [`Error::kind`].
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hints: Vec<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not a source of skills.
    InvalidSource,
    /// The source, or something in it, does not exist.
    NotFound,
    /// The source needs a token, or another one.
    Unauthorized,
    /// The content is refused: it is too large, leads out, or does not have its digest.
    Refused,
    /// A lock file cannot be understood, or does not fit what is there.
    Lock,
    /// Something was changed by others in the meantime, or is in the way.
    Changed,
    /// git failed.
    Git,
    /// A request over the network failed.
    Network,
    /// The operating system reported an error.
    Io,
}

impl Error {
    /// Returns an error of `kind`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), source: None }
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
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| -> &(dyn std::error::Error + 'static) { source })
    }
}

impl From<repertoire::Error> for Error {
    fn from(error: repertoire::Error) -> Self {
        let kind = match error.kind() {
            repertoire::ErrorKind::SkillChanged
            | repertoire::ErrorKind::FileChanged
            | repertoire::ErrorKind::AlreadyThere
            | repertoire::ErrorKind::Busy => ErrorKind::Changed,
            repertoire::ErrorKind::TooLarge => ErrorKind::Refused,
            _ => ErrorKind::Io,
        };
        let (message, hint) = match (error.kind(), error.path()) {
            (repertoire::ErrorKind::FileChanged, _) => {
                (error.to_string(), Some("nothing was changed; run it again"))
            }
            (repertoire::ErrorKind::AlreadyThere, _) => {
                (error.to_string(), Some("nothing was changed; move it away, or remove it"))
            }
            (repertoire::ErrorKind::Busy, Some(base)) => (
                format!("another rep changes the skills of {}", base.display()),
                Some("try again when it has finished"),
            ),
            _ => (error.to_string(), None),
        };
        let hints = hint.into_iter().map(str::to_owned).collect();
        Self { source: error.into_source(), hints, ..Self::new(kind, message) }
    }
}

impl From<FailedChange> for Error {
    fn from(failed: FailedChange) -> Self {
        let error = Self::from(failed.error);
        match failed.undo {
            None => error,
            Some(second) => error
                .hint(format!("what was changed already could not be undone: {second}"))
                .hint("the next command tries it again"),
        }
    }
}
