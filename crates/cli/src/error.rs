//! The error of the command line: a kind, a message, causes and hints. Every library error is converted here.

use std::fmt::Write as _;
use std::io;
use std::iter;
use std::path::Path;

use repertoire::{Error, ErrorKind};
use repertoire_model::PathFault;
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui, escape};

/// The kind of an error, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CliErrorKind {
    /// The answer is no.
    No,
    /// The command line or the configuration is wrong.
    Usage,
    /// Input or output failed.
    Failure,
    /// The reader of our output has gone.
    BrokenPipe,
}

/// An error that ends a command.
#[derive(Debug)]
pub(crate) struct CliError {
    kind: CliErrorKind,
    message: String,
    /// The causes, outermost first.
    causes: Vec<String>,
    /// Text printed as it is instead of the message: source snippets.
    rendered: Option<String>,
    hints: Vec<String>,
}

impl CliError {
    fn new(kind: CliErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), rendered: None, hints: Vec::new() }
    }

    /// Returns an error for an answer that is no.
    pub(crate) fn no(message: impl Into<String>) -> Self {
        Self::new(CliErrorKind::No, message)
    }

    /// Returns an error for a command line or configuration that is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(CliErrorKind::Usage, message)
    }

    /// Returns an error for something outside of this program that failed.
    pub(crate) fn failure(message: impl Into<String>) -> Self {
        Self::new(CliErrorKind::Failure, message)
    }

    /// Returns the error about changes that were not written without consent; `hint` is for programs that
    /// cannot be asked.
    pub(crate) fn not_written(consent: Consent, changes: &str, hint: &str) -> Self {
        let error = Self::no(format!("nothing was written: {changes}"));
        if consent == Consent::Unasked { error.hint(hint) } else { error }
    }

    /// Returns an error for input or output at `path` that failed.
    pub(crate) fn io(action: &str, path: &Path, source: io::Error) -> Self {
        Self::new(CliErrorKind::Failure, format!("cannot {action} {}", path.display())).because(source)
    }

    /// Returns a configuration error that is shown as `rendered`, which holds no untrusted text unescaped.
    pub(crate) fn rendered(message: impl Into<String>, rendered: String) -> Self {
        Self { rendered: Some(rendered), ..Self::usage(message) }
    }

    /// Returns this error with a cause and the causes of that.
    #[must_use]
    pub(crate) fn because(mut self, source: impl Into<anyhow::Error>) -> Self {
        self.causes.extend(source.into().chain().map(ToString::to_string));
        self
    }

    /// Returns this error with a hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns this error with every hint changed by `change`.
    #[must_use]
    pub(crate) fn map_hints(mut self, change: impl Fn(&str) -> String) -> Self {
        self.hints.iter_mut().for_each(|hint| *hint = change(hint));
        self
    }

    /// Returns the message, one line.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the message and its causes, one line.
    pub(crate) fn message_with_causes(&self) -> String {
        let lines: Vec<&str> = [&self.message].into_iter().chain(&self.causes).map(String::as_str).collect();
        lines.join(": ")
    }

    /// Returns whether the error shows the line that is wrong.
    pub(crate) fn has_snippet(&self) -> bool {
        self.rendered.is_some()
    }

    /// Returns the causes, outermost first.
    pub(crate) fn causes(&self) -> &[String] {
        &self.causes
    }

    /// Returns the hints.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Returns the error as the keys that every JSON document of a failed command has.
    pub(crate) fn json(&self) -> Map<String, Value> {
        let keys = [
            ("error", Value::from(self.message.as_str())),
            ("causes", Value::from(self.causes.as_slice())),
            ("hints", Value::from(self.hints.as_slice())),
        ];
        keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Prints the error, as JSON too where that is wanted, and returns the exit code that goes with it.
    pub(crate) fn report(&self, ui: &mut Ui) -> Exit {
        if ui.is_json() && self.kind != CliErrorKind::BrokenPipe {
            // A document that cannot be written fails again when it is flushed.
            let _ = ui.write_json_error(self.json());
        }
        self.report_to_person(ui)
    }

    /// Prints the error to standard error and returns the exit code that goes with it.
    pub(crate) fn report_to_person(&self, ui: &mut Ui) -> Exit {
        // Output that was printed before the error stands before it.
        let flushed = ui.flush();
        if self.kind == CliErrorKind::BrokenPipe || flushed.is_err_and(|error| is_closed(&error)) {
            return Exit::Success;
        }
        let mut text = String::new();
        if let Some(rendered) = &self.rendered {
            text.push_str(rendered);
        } else {
            let word = ui.paint_err(Style::Error, "error:");
            let _ = writeln!(text, "{word} {}", escape(&self.message));
            for cause in &self.causes {
                let _ = writeln!(text, "  because: {}", escape(cause));
            }
        }
        for hint in &self.hints {
            let _ = writeln!(text, "{} {}", ui.paint_err(Style::Hint, "hint:"), escape(hint));
        }
        // Nothing can be reported when stderr is closed too.
        let _ = ui.err().write_all(text.as_bytes());
        let _ = ui.flush();
        match self.kind {
            CliErrorKind::No => Exit::No,
            CliErrorKind::Usage => Exit::Usage,
            CliErrorKind::Failure => Exit::Failure,
            CliErrorKind::BrokenPipe => Exit::Success,
        }
    }
}

/// Returns whether a file could not be read for want of permission.
pub(crate) fn is_denied(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::PermissionDenied)
}

fn is_closed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        if is_closed(&error) {
            return Self::new(CliErrorKind::BrokenPipe, "the output was closed");
        }
        Self::new(CliErrorKind::Failure, "input or output failed").because(error)
    }
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        Self::from(io::Error::from(error))
    }
}

impl From<PathFault> for CliError {
    fn from(fault: PathFault) -> Self {
        Self::no(fault.to_string())
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Approvals if is_denied(&error) => CliErrorKind::Failure,
            ErrorKind::SkillNotFound
            | ErrorKind::FileNotFound
            | ErrorKind::IsDirectory
            | ErrorKind::Forbidden
            | ErrorKind::TooLarge
            | ErrorKind::InvalidSkill
            | ErrorKind::InvalidTemplate
            | ErrorKind::Approvals
            | ErrorKind::SkillChanged
            | ErrorKind::FileChanged
            | ErrorKind::AlreadyThere
            | ErrorKind::Busy
            | ErrorKind::ReadOnly
            | ErrorKind::ForeignOwner
            | ErrorKind::Refused => CliErrorKind::No,
            ErrorKind::AgentNotFound | ErrorKind::ReservedName => CliErrorKind::Usage,
            // The configuration or the command line is wrong.
            ErrorKind::InvalidAgent | ErrorKind::InvalidRole => CliErrorKind::Usage,
            _ => CliErrorKind::Failure,
        };
        let mut converted = Self::new(kind, error.to_string());
        let causes = iter::successors(std::error::Error::source(&error), |cause| cause.source());
        converted.causes.extend(causes.map(ToString::to_string));
        match error.kind() {
            ErrorKind::FileChanged => converted.hint("run it again"),
            ErrorKind::ReadOnly => {
                let way = if cfg!(unix) { "`chmod u+w` makes it writable" } else { "take that attribute away" };
                converted.hint(format!("{way}, if it may be changed; then try again"))
            }
            ErrorKind::ForeignOwner => converted
                .hint("run it as the user that the file belongs to, or change the file by hand"),
            ErrorKind::Refused => converted
                .hint("run `rep check` to see everything that is wrong")
                .hint("`--profile standard` sets such skills aside instead of refusing all of them"),
            ErrorKind::Approvals if kind == CliErrorKind::No => converted
                .hint("mend the file, or remove it: this revokes every approval in it, and nothing runs until you approve it again"),
            _ => converted,
        }
    }
}

impl From<repertoire_sources::Error> for CliError {
    fn from(error: repertoire_sources::Error) -> Self {
        use repertoire_sources::ErrorKind;

        let kind = match error.kind() {
            ErrorKind::InvalidSource => CliErrorKind::Usage,
            ErrorKind::NotFound | ErrorKind::Refused | ErrorKind::Lock | ErrorKind::Changed => {
                CliErrorKind::No
            }
            _ => CliErrorKind::Failure,
        };
        let mut converted = Self::new(kind, error.to_string());
        let causes = iter::successors(std::error::Error::source(&error), |cause| cause.source());
        converted.causes.extend(causes.map(ToString::to_string));
        converted.hints.extend(error.hints().iter().cloned());
        converted
    }
}

impl From<repertoire_clients::Error> for CliError {
    fn from(error: repertoire_clients::Error) -> Self {
        use repertoire_clients::ErrorKind;

        let hints = error.hints().to_vec();
        let mut converted = match error.into_core() {
            Ok(error) => Self::from(error),
            Err(error) => {
                let kind = match error.kind() {
                    ErrorKind::InvalidRequest => CliErrorKind::Usage,
                    ErrorKind::Refused => CliErrorKind::No,
                    _ => CliErrorKind::Failure,
                };
                let mut converted = Self::new(kind, error.to_string());
                let causes = iter::successors(std::error::Error::source(&error), |cause| cause.source());
                converted.causes.extend(causes.map(ToString::to_string));
                converted
            }
        };
        converted.hints.extend(hints);
        converted
    }
}

impl From<repertoire_web::Error> for CliError {
    fn from(error: repertoire_web::Error) -> Self {
        let kind = match error.kind() {
            // The command line is right; the system is not as it would have to be.
            repertoire_web::ErrorKind::Io | repertoire_web::ErrorKind::Address => CliErrorKind::Failure,
            _ => CliErrorKind::Usage,
        };
        let mut converted = Self::new(kind, error.to_string());
        let causes = iter::successors(std::error::Error::source(&error), |cause| cause.source());
        converted.causes.extend(causes.map(ToString::to_string));
        converted.hints.extend(error.hint().map(str::to_owned));
        converted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_kept() {
        let inner = io::Error::other(anyhow::anyhow!("the disk is full"));
        let middle = anyhow::Error::new(inner).context("the page was not written");
        let error = Error::new(ErrorKind::Io).because(Error::new(ErrorKind::Forbidden).because(middle));
        let causes = CliError::from(error).causes;
        assert_eq!(causes[..2], ["file may not be read", "the page was not written"]);
        assert_eq!(causes.last().unwrap(), "the disk is full");
        let error = CliError::no("x").because(anyhow::anyhow!("one")).because(anyhow::anyhow!("two"));
        assert_eq!(error.causes, ["one", "two"]);
    }
}
