//! Finds skills that an agent could confuse.

use std::collections::BTreeMap;
use std::ptr;

use repertoire_model::validate::Reporter;
use repertoire_model::{Diagnostic, Policy, RuleId};
use repertoire_search::confusable::{ConfusablePair, confusable_pairs, findings};
use serde_json::{Value, json};

use super::target::{CheckedSkill, Target};
use crate::wire::Library;

/// Finds confusable skills of each library, adds the findings to `checked`, and returns all pairs as JSON.
pub(super) fn find<'a>(
    targets: &'a [Target],
    checked: &mut [CheckedSkill<'a>],
    policy: &Policy,
) -> Vec<Value> {
    let mut found = Vec::new();
    for Target { library, .. } in targets {
        let pairs = confusable_pairs(&library.snapshot);
        let mut findings_of: BTreeMap<usize, Vec<Diagnostic>> = BTreeMap::new();
        for (entry, diagnostic) in findings(&library.snapshot, &pairs, policy) {
            findings_of.entry(entry).or_default().push(diagnostic);
        }
        for (copy, diagnostic) in copies(library, policy) {
            findings_of.entry(copy).or_default().push(diagnostic);
        }
        for checked in checked.iter_mut().filter(|checked| ptr::eq(checked.library, library)) {
            let index = library.snapshot.index_of(checked.entry);
            let found = index.and_then(|index| findings_of.remove(&index));
            checked.diagnostics.extend(found.into_iter().flatten());
        }
        found.extend(pairs.into_iter().map(|pair| json(library, pair)));
    }
    found
}

/// Returns a finding about every skill that is shadowed by a skill with the same text.
///
/// Agents are never offered both, so these are not pairs that they could confuse.
fn copies(library: &Library, policy: &Policy) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    for group in library.snapshot.entries().chunk_by(|a, b| a.name() == b.name()) {
        let Some((first, others)) = group.split_first() else { continue };
        for other in others {
            let (text, copy) = (&first.document, &other.document);
            if (text.head_checksum, text.body) != (copy.head_checksum, copy.body) {
                continue;
            }
            let mut reporter = Reporter::new(policy);
            reporter
                .report(
                    RuleId::Confusable,
                    format!("the skill is a copy of {}, with the same SKILL.md", first.path),
                )
                .help("remove one of the two");
            if let Some(index) = library.snapshot.index_of(other) {
                found.extend(reporter.finish().into_iter().map(|found| (index, found)));
            }
        }
    }
    found
}

fn json(library: &Library, pair: ConfusablePair) -> Value {
    let (of_first, of_second) = pair.sentences(&library.snapshot);
    let skill = |entry: usize, only: Vec<String>, missing: Option<String>| {
        let entry = &library.snapshot.entries()[entry];
        json!({"name": entry.name().as_str(), "path": &*entry.path, "only": only, "missing": missing})
    };
    json!({
        "first": skill(pair.first, pair.only_first, of_first),
        "second": skill(pair.second, pair.only_second, of_second),
        "kind": pair.kind.as_str(),
        "likeness": (f64::from(pair.likeness) * 10_000.0).round() / 10_000.0,
        "shared": pair.shared,
    })
}
