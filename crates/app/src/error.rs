//! The error of the application: a kind, a message, causes and hints. Every library error is converted here.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::iter;
use std::path::Path;

use repertoire::config::{ConfigError, FaultyFile};
use repertoire::proposal::review::ReviewFault;
use repertoire::store::ProposalState;
use repertoire_model::PathFault;
use repertoire_model::catalog::CatalogError;

/// The kind of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The answer is no.
    No,
    /// The request or the configuration is wrong.
    Usage,
    /// Something outside of this program failed.
    Failure,
    /// The reader of our output has gone.
    BrokenPipe,
}

/// An error of the application.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    /// The causes, outermost first.
    causes: Vec<String>,
    /// The configuration file that is wrong, to be shown instead of the message.
    file: Option<Box<FaultyFile>>,
    hints: Vec<String>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), file: None, hints: Vec::new() }
    }

    /// Returns an error with the message and the causes of `error`.
    pub fn of(kind: ErrorKind, error: &dyn StdError) -> Self {
        Self { causes: causes(error.source()), ..Self::new(kind, error.to_string()) }
    }

    /// Returns an error for an answer that is no.
    pub fn no(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::No, message)
    }

    /// Returns an error for a command line or configuration that is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// Returns an error for something outside of this program that failed.
    pub fn failure(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failure, message)
    }

    /// Returns an error for input or output at `path` that failed.
    pub fn io(action: &str, path: &Path, source: io::Error) -> Self {
        Self::new(ErrorKind::Failure, format!("cannot {action} {}", path.display())).because(source)
    }

    /// Returns this error with a cause and the causes of that.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.causes.extend(causes(Some(&*source.into())));
        self
    }

    /// Returns this error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns this error with every hint changed by `change`.
    #[must_use]
    pub fn map_hints(mut self, change: impl Fn(&str) -> String) -> Self {
        self.hints.iter_mut().for_each(|hint| *hint = change(hint));
        self
    }

    /// Returns this error with several hints.
    #[must_use]
    pub fn with_hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        self.hints.extend(hints);
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the message, one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the message and its causes, one line.
    pub fn message_with_causes(&self) -> String {
        let lines: Vec<&str> = [&self.message].into_iter().chain(&self.causes).map(String::as_str).collect();
        lines.join(": ")
    }

    /// Returns the configuration file that is wrong, if one is.
    pub fn file(&self) -> Option<&FaultyFile> {
        self.file.as_deref()
    }

    /// Returns the causes, outermost first.
    pub fn causes(&self) -> &[String] {
        &self.causes
    }

    /// Returns the hints.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message_with_causes())
    }
}

impl StdError for Error {}

fn causes(first: Option<&(dyn StdError + 'static)>) -> Vec<String> {
    iter::successors(first, |&cause| cause.source()).map(ToString::to_string).collect()
}

/// Returns whether a file could not be read for want of permission.
pub fn is_denied(error: &repertoire::Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::PermissionDenied)
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(ErrorKind::BrokenPipe, "the output was closed");
        }
        Self::new(ErrorKind::Failure, "input or output failed").because(error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::from(io::Error::from(error))
    }
}

impl From<PathFault> for Error {
    fn from(fault: PathFault) -> Self {
        Self::no(fault.to_string())
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        let converted =
            Self { file: error.file().cloned().map(Box::new), ..Self::of(ErrorKind::Usage, &error) };
        converted.with_hints(error.help().map(str::to_owned))
    }
}

impl From<repertoire::Error> for Error {
    fn from(error: repertoire::Error) -> Self {
        use repertoire::ErrorKind as CoreKind;

        let kind = match error.kind() {
            CoreKind::Record if is_denied(&error) => ErrorKind::Failure,
            CoreKind::SkillNotFound
            | CoreKind::FileNotFound
            | CoreKind::IsDirectory
            | CoreKind::Forbidden
            | CoreKind::TooLarge
            | CoreKind::InvalidSkill
            | CoreKind::InvalidTemplate
            | CoreKind::Record
            | CoreKind::SkillChanged
            | CoreKind::FileChanged
            | CoreKind::AlreadyThere
            | CoreKind::Busy
            | CoreKind::ReadOnly
            | CoreKind::ForeignOwner
            | CoreKind::Refused => ErrorKind::No,
            CoreKind::AgentNotFound | CoreKind::ReservedName => ErrorKind::Usage,
            // The configuration or the command line is wrong.
            CoreKind::InvalidAgent | CoreKind::InvalidRole => ErrorKind::Usage,
            _ => ErrorKind::Failure,
        };
        let converted = Self::of(kind, &error);
        match error.kind() {
            CoreKind::FileChanged => converted.hint("run it again"),
            CoreKind::ReadOnly => {
                let way = if cfg!(unix) { "`chmod u+w` makes it writable" } else { "take that attribute away" };
                converted.hint(format!("{way}, if it may be changed; then try again"))
            }
            CoreKind::ForeignOwner => converted
                .hint("run it as the user that the file belongs to, or change the file by hand"),
            CoreKind::Refused => converted
                .hint("run `rep check` to see everything that is wrong")
                .hint("`--profile standard` sets such skills aside instead of refusing all of them"),
            CoreKind::Record if kind == ErrorKind::No => converted
                .hint("mend the file, or use the newer `rep` that wrote it; if you remove it, all that it records is forgotten"),
            _ => converted,
        }
    }
}

impl From<CatalogError> for Error {
    fn from(error: CatalogError) -> Self {
        match &error {
            CatalogError::UnknownHighlight { name, nearest } => {
                let error = Self::no(format!("there is no skill `{name}` in the catalog to highlight"));
                match nearest {
                    Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
                    None => error.hint("run `rep list` to see the skills"),
                }
            }
            _ => Self::no(error.to_string()),
        }
    }
}

impl From<ReviewFault> for Error {
    fn from(fault: ReviewFault) -> Self {
        let hint = match &fault {
            ReviewFault::NotFound(_) => Some("`rep proposal list --all` lists all of them".to_owned()),
            ReviewFault::Stale(_) => {
                Some("`rep proposal rebase ID` repeats the change on the skill as it is now".to_owned())
            }
            ReviewFault::State(id, ProposalState::Stale) => {
                Some(format!("`rep proposal rebase {id}` repeats the change on the skill as it is now"))
            }
            ReviewFault::NoVersion(name, _) => Some(format!("`rep history {name}` lists its versions")),
            ReviewFault::UnrecordedEdits(name) => {
                Some(format!("`rep history {name}` records them as a version, and --force replaces them"))
            }
            ReviewFault::Conflicts(_) => Some("reject it, or propose the change anew".to_owned()),
            ReviewFault::SkillGone(_) => {
                Some("it is not among the skills that `rep list` shows here".to_owned())
            }
            _ => None,
        };
        let error = match fault {
            ReviewFault::Failed(error) => Self::from(error),
            fault => Self::no(fault.to_string()),
        };
        hint.into_iter().fold(error, Self::hint)
    }
}

impl From<repertoire_sources::Error> for Error {
    fn from(error: repertoire_sources::Error) -> Self {
        use repertoire_sources::ErrorKind as SourceKind;

        let kind = match error.kind() {
            SourceKind::InvalidSource => ErrorKind::Usage,
            SourceKind::NotFound
            | SourceKind::Unauthorized
            | SourceKind::Refused
            | SourceKind::Lock
            | SourceKind::Changed => ErrorKind::No,
            _ => ErrorKind::Failure,
        };
        let converted = Self::of(kind, &error).with_hints(error.hints().iter().cloned());
        if error.kind() == SourceKind::Unauthorized {
            return converted.hint("pass a file with the token with `--token-file`");
        }
        converted
    }
}

impl From<repertoire_clients::Error> for Error {
    fn from(error: repertoire_clients::Error) -> Self {
        use repertoire_clients::ErrorKind as ClientsKind;

        let hints = error.hints().to_vec();
        let converted = match error.into_core() {
            Ok(error) => Self::from(error),
            Err(error) => {
                let kind = match error.kind() {
                    ClientsKind::InvalidRequest => ErrorKind::Usage,
                    ClientsKind::Refused => ErrorKind::No,
                    _ => ErrorKind::Failure,
                };
                Self::of(kind, &error)
            }
        };
        converted.with_hints(hints)
    }
}

#[cfg(test)]
mod tests {
    use repertoire::ErrorKind as CoreKind;

    use super::*;

    #[test]
    fn every_cause_is_kept() {
        let inner = io::Error::other("the disk is full");
        let middle = repertoire::Error::new(CoreKind::Forbidden).because(inner);
        let error = Error::from(repertoire::Error::new(CoreKind::Io).because(middle));
        assert_eq!(error.causes, ["file may not be read", "the disk is full"]);
        let error = Error::no("x").because("one").because("two");
        assert_eq!(error.causes, ["one", "two"]);
    }
}
