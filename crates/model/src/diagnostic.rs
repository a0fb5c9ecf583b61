//! What is wrong with a skill, where, and what to do about it.

use std::fmt;

use crate::validate::RuleId;

/// How much a diagnostic matters. The order is the order of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; nothing needs to change.
    Info,
    /// The skill works, but not as well or not everywhere.
    Warning,
    /// The skill breaks a rule of the profile in force; `check` fails.
    Error,
}

impl Severity {
    /// Returns the word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A place in a file: a byte range of its text with the line it starts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The byte offset in the file.
    pub start: u32,
    /// The length in bytes, within the file.
    pub length: u32,
    /// The line, counted from 1.
    pub line: u32,
}

/// One finding of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that found it.
    pub rule: RuleId,
    /// Its weight under the policy in force.
    pub severity: Severity,
    /// What is wrong: lower case, no final period.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The file it is about, relative to the skill directory; `SKILL.md` unless said otherwise.
    pub file: Option<String>,
    /// Where in that file.
    pub span: Option<Span>,
}

impl Diagnostic {
    /// Returns the line it points at, if it points at one.
    pub fn line(&self) -> Option<u32> {
        self.span.map(|span| span.line)
    }
}

/// Returns the heaviest severity among `diagnostics`.
pub fn worst(diagnostics: &[Diagnostic]) -> Option<Severity> {
    diagnostics.iter().map(|diagnostic| diagnostic.severity).max()
}
