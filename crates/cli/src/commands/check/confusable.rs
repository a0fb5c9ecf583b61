//! Finds skills that an agent could confuse.

use std::ptr;

use repertoire_model::Policy;
use repertoire_search::confusable::{ConfusablePair, confusable_pairs, findings};
use serde_json::{Value, json};

use super::report::CheckedSkill;
use crate::wire::Library;

/// Finds the skills of each library that an agent could confuse, adds the findings to `checked`, and returns all pairs
/// as JSON.
pub(super) fn find<'a>(
    libraries: &'a [Library],
    checked: &mut [CheckedSkill<'a>],
    policy: &Policy,
) -> Vec<Value> {
    let mut found = Vec::new();
    for library in libraries {
        let first = checked.iter().position(|checked| ptr::eq(checked.library, library)).unwrap_or_default();
        let pairs = confusable_pairs(&library.snapshot);
        for (entry, diagnostic) in findings(&library.snapshot, &pairs, policy) {
            // Every skill of a library is there, in order.
            if let Some(checked) = checked.get_mut(first + entry) {
                checked.diagnostics.push(diagnostic);
            }
        }
        found.extend(pairs.into_iter().map(|pair| json(library, pair)));
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
