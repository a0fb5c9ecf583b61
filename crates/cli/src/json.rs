//! The JSON shapes that several commands share; `docs/reference/json.md` documents all of them.

use repertoire::Entry;
use repertoire::provider::Problem;
use repertoire_model::Diagnostic;
use serde::Serialize;

/// A finding, as `list` gives it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DiagnosticJson {
    rule: &'static str,
    severity: &'static str,
    message: String,
    path: String,
    line: Option<u32>,
}

impl DiagnosticJson {
    /// Returns a finding about the skill `entry`.
    pub(crate) fn of_skill(entry: &Entry, diagnostic: &Diagnostic) -> Self {
        Self::new(diagnostic, path_of(entry, diagnostic))
    }

    /// Returns a finding about a source.
    pub(crate) fn of_source(problem: &Problem) -> Self {
        Self::new(&problem.diagnostic, problem.path.clone())
    }

    /// Returns a finding about the file at `path`.
    pub(crate) fn new(diagnostic: &Diagnostic, path: String) -> Self {
        Self {
            rule: diagnostic.rule.as_str(),
            severity: diagnostic.severity.as_str(),
            message: diagnostic.message.clone(),
            path,
            line: diagnostic.line(),
        }
    }
}

/// Returns the path of the file of `entry` that `diagnostic` is about.
pub(crate) fn path_of(entry: &Entry, diagnostic: &Diagnostic) -> String {
    let file = diagnostic.file.as_deref().unwrap_or(&entry.manifest_file);
    format!("{}/{file}", entry.path.trim_end_matches('/'))
}
