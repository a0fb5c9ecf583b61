//! The diagnostics that one snapshot has and another has not.

use std::collections::HashSet;

use repertoire::{Entry, Snapshot};
use repertoire_model::Diagnostic;

use repertoire_app::view::path_of;

/// A diagnostic, and the path of its subject.
pub(super) struct Finding<'s> {
    pub(super) path: String,
    pub(super) diagnostic: &'s Diagnostic,
}

impl Finding<'_> {
    /// Returns a key that identifies it in another snapshot; the line may differ.
    fn key(&self) -> (&str, &'static str, &str) {
        (&self.path, self.diagnostic.rule.as_str(), self.diagnostic.message.as_str())
    }
}

/// The diagnostics that came and went.
pub(super) struct Account<'s> {
    pub(super) new: Vec<Finding<'s>>,
    pub(super) resolved: Vec<Finding<'s>>,
}

impl<'s> Account<'s> {
    /// Returns the diagnostics that only `after` has, and the ones that only `before` has.
    pub(super) fn between(before: &'s Snapshot, after: &'s Snapshot) -> Self {
        Self { new: difference(after, before), resolved: difference(before, after) }
    }
}

fn findings(snapshot: &Snapshot) -> impl Iterator<Item = Finding<'_>> {
    let of_skill = |entry| {
        Entry::diagnostics(entry)
            .map(move |diagnostic| Finding { path: path_of(entry, diagnostic), diagnostic })
    };
    let of_source = snapshot.problems().iter();
    let of_source =
        of_source.map(|problem| Finding { path: problem.path.clone(), diagnostic: &problem.diagnostic });
    snapshot.entries().iter().flat_map(of_skill).chain(of_source)
}

fn difference<'s>(of: &'s Snapshot, without: &Snapshot) -> Vec<Finding<'s>> {
    let known: Vec<Finding<'_>> = findings(without).collect();
    let known: HashSet<_> = known.iter().map(Finding::key).collect();
    findings(of).filter(|finding| !known.contains(&finding.key())).collect()
}
