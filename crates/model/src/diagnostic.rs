//! Diagnostics: findings about a skill, with their place and what to do about them.

use crate::rule::{RuleId, Severity};

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
#[non_exhaustive]
pub struct Diagnostic {
    /// The rule that found it.
    pub rule: RuleId,
    /// Its weight under the policy in force.
    pub severity: Severity,
    /// The message: lower case, no final period.
    pub message: String,
    /// The advice on what to do about it.
    pub help: Option<String>,
    /// The file it is about, relative to the skill directory; `None` for `SKILL.md`.
    pub file: Option<String>,
    /// The place in that file.
    pub span: Option<Span>,
}

impl Diagnostic {
    /// Returns a diagnostic of the whole skill, without help.
    pub fn new(rule: RuleId, severity: Severity, message: impl Into<String>) -> Self {
        Self { rule, severity, message: message.into(), help: None, file: None, span: None }
    }

    /// Returns the line it points at, if it points at one.
    pub fn line(&self) -> Option<u32> {
        self.span.map(|span| span.line)
    }
}

/// Returns the heaviest severity among `diagnostics`.
pub fn worst<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Option<Severity> {
    diagnostics.into_iter().map(|diagnostic| diagnostic.severity).max()
}
