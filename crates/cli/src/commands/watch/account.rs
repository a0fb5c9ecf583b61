//! The diagnostics that one snapshot has and another has not.

use std::collections::HashSet;

use repertoire::provider::Problem;
use repertoire::{Entry, Snapshot};
use repertoire_model::Diagnostic;

use crate::json::{DiagnosticJson, path_of};

/// A diagnostic and its subject.
pub(super) enum Finding<'s> {
    Skill(&'s Entry, &'s Diagnostic),
    Source(&'s Problem),
}

impl Finding<'_> {
    /// Returns the diagnostic.
    pub(super) fn diagnostic(&self) -> &Diagnostic {
        match self {
            Self::Skill(_, diagnostic) => diagnostic,
            Self::Source(problem) => &problem.diagnostic,
        }
    }

    /// Returns its location.
    pub(super) fn path(&self) -> String {
        match self {
            Self::Skill(entry, diagnostic) => path_of(entry, diagnostic),
            Self::Source(problem) => problem.path.clone(),
        }
    }

    /// Returns it as JSON.
    pub(super) fn json(&self) -> DiagnosticJson {
        match self {
            Self::Skill(entry, diagnostic) => DiagnosticJson::of_skill(entry, diagnostic),
            Self::Source(problem) => DiagnosticJson::of_source(problem),
        }
    }

    /// Returns a key that identifies it in another snapshot; the line may differ.
    fn key(&self) -> (String, &'static str, &str) {
        let diagnostic = self.diagnostic();
        (self.path(), diagnostic.rule.as_str(), diagnostic.message.as_str())
    }
}

/// The diagnostics that came and went.
pub(super) struct Account<'s> {
    pub(super) new: Vec<Finding<'s>>,
    pub(super) resolved: Vec<Finding<'s>>,
}

impl<'s> Account<'s> {
    /// Returns the diagnostics that only `after` has, and those that only `before` has.
    pub(super) fn between(before: &'s Snapshot, after: &'s Snapshot) -> Self {
        Self { new: difference(after, before), resolved: difference(before, after) }
    }
}

fn findings(snapshot: &Snapshot) -> impl Iterator<Item = Finding<'_>> {
    let of_skill = |entry| Entry::diagnostics(entry).map(move |diagnostic| Finding::Skill(entry, diagnostic));
    snapshot.entries().iter().flat_map(of_skill).chain(snapshot.problems().iter().map(Finding::Source))
}

fn difference<'s>(of: &'s Snapshot, without: &Snapshot) -> Vec<Finding<'s>> {
    let known: Vec<Finding<'_>> = findings(without).collect();
    let known: HashSet<_> = known.iter().map(Finding::key).collect();
    findings(of).filter(|finding| !known.contains(&finding.key())).collect()
}
