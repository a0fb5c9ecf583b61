//! A finding of the rules.

use repertoire::Entry;
use repertoire::provider::Problem;
use repertoire_model::Diagnostic;
use schemars::JsonSchema;
use serde::Serialize;

/// A finding of the rules about a skill or a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct DiagnosticView {
    /// The rule.
    pub rule: &'static str,
    /// The severity: `info`, `warning` or `error`.
    pub severity: &'static str,
    /// The problem.
    pub message: String,
    /// The path of the file, or of the source.
    pub path: String,
    /// The line, from 1; `null` if it is about the whole file.
    pub line: Option<u32>,
    /// The column, from 1, in characters; from `rep check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The text of the line; from servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_line: Option<String>,
    /// The advice; from `rep check` and servers, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl DiagnosticView {
    /// Returns a finding about the skill `entry`.
    pub fn of_skill(entry: &Entry, diagnostic: &Diagnostic) -> Self {
        Self::new(diagnostic, path_of(entry, diagnostic))
    }

    /// Returns a finding about a source.
    pub fn of_source(problem: &Problem) -> Self {
        Self::new(&problem.diagnostic, problem.path.clone())
    }

    /// Returns a finding about the file at `path`.
    pub fn new(diagnostic: &Diagnostic, path: String) -> Self {
        Self {
            rule: diagnostic.rule.as_str(),
            severity: diagnostic.severity.as_str(),
            message: diagnostic.message.clone(),
            path,
            line: diagnostic.line(),
            column: None,
            source_line: None,
            help: None,
        }
    }
}

/// Returns the path of the file of `entry` that `diagnostic` is about.
pub fn path_of(entry: &Entry, diagnostic: &Diagnostic) -> String {
    let file = diagnostic.file.as_deref().unwrap_or(&entry.manifest_file);
    format!("{}/{file}", entry.path.trim_end_matches('/'))
}
