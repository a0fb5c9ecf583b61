//! Finds skills that an agent could mix up.

use std::ptr;

use repertoire::search::MixUp;
use repertoire_model::Policy;
use serde::Serialize;

use super::checked_skill::CheckedSkill;
use crate::wire::Library;

/// Two skills that an agent could mix up.
#[derive(Serialize)]
pub(super) struct MixUpJson {
    first: MixedUpJson,
    second: MixedUpJson,
    kind: &'static str,
    likeness: f64,
    shared: Vec<String>,
}

/// One of them.
#[derive(Serialize)]
struct MixedUpJson {
    name: String,
    path: String,
    only: Vec<String>,
    missing: Option<String>,
}

/// Finds the skills of each library that could be mixed up, adds the findings to `checked`, and returns all pairs.
pub(super) fn find<'a>(
    libraries: &'a [Library],
    checked: &mut [CheckedSkill<'a>],
    policy: &Policy,
) -> Vec<MixUpJson> {
    let mut found = Vec::new();
    for library in libraries {
        let first = checked.iter().position(|checked| ptr::eq(checked.library, library)).unwrap_or_default();
        let mix_ups = library.snapshot.mix_ups();
        for (entry, diagnostic) in library.snapshot.mix_up_findings(&mix_ups, policy) {
            // Every skill of a library is there, in order.
            if let Some(checked) = checked.get_mut(first + entry) {
                checked.diagnostics.push(diagnostic);
            }
        }
        found.extend(mix_ups.into_iter().map(|mix_up| json(library, mix_up)));
    }
    found
}

fn json(library: &Library, mix_up: MixUp) -> MixUpJson {
    let (of_first, of_second) = mix_up.sentences(&library.snapshot);
    let skill = |entry: usize, only: Vec<String>, missing: Option<String>| {
        let entry = &library.snapshot.entries()[entry];
        MixedUpJson { name: entry.name().to_string(), path: entry.path.to_string(), only, missing }
    };
    let MixUp(mix_up) = mix_up;
    MixUpJson {
        first: skill(mix_up.first, mix_up.only_first, of_first),
        second: skill(mix_up.second, mix_up.only_second, of_second),
        kind: mix_up.kind.as_str(),
        likeness: (f64::from(mix_up.likeness) * 10_000.0).round() / 10_000.0,
        shared: mix_up.shared,
    }
}
