//! Skills that lose queries to another skill, with the words that would tell them apart.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use repertoire::{Entry, Snapshot};

use crate::confusable::{SkillClaims, TermWeights};
use crate::parallel::map;
use crate::words::Term;

/// The most words of [`TriggerConfusion::say`] and [`TriggerConfusion::own`].
const MAX_WORDS: usize = 6;

/// The queries of trigger evals that one skill loses to another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TriggerConfusion {
    /// The index of the skill that should have been ranked first among the entries of the snapshot.
    pub skill: usize,
    /// The index of the skill that was ranked first.
    pub other: usize,
    /// The number of queries of `skill` that ranked `other` first.
    pub queries: usize,
    /// The number of queries of `other` that ranked `skill` first.
    pub of_other: usize,
    /// Words of the lost queries that `skill` lacks in name and description, those of the most queries first.
    pub say: Vec<String>,
    /// Words of the name and description of `skill` that those of `other` do not have, the rarest first.
    pub own: Vec<String>,
}

/// Returns the confusions for the `lost` queries, by the skill that should have been ranked first and the one
/// that was. Those with the most queries are first.
pub(super) fn confused(
    snapshot: &Snapshot,
    lost: &BTreeMap<(usize, usize), Vec<&str>>,
) -> Vec<TriggerConfusion> {
    if lost.is_empty() {
        return Vec::new();
    }
    let entries = snapshot.entries();
    let offered: Vec<&Entry> = entries.iter().filter(|entry| entry.is_offered()).collect();
    let claims = map(&offered, |entry| SkillClaims::of(entry.name().as_str(), &entry.document.description));
    let weights = TermWeights::of(claims.iter());
    let places = offered.iter().filter_map(|entry| snapshot.index_of(entry));
    let claims: BTreeMap<usize, SkillClaims> = places.zip(claims).collect();
    let mut confused: Vec<TriggerConfusion> = lost
        .iter()
        .filter_map(|((skill, other), queries)| {
            let (of_skill, of_other) = (claims.get(skill)?, claims.get(other)?);
            let own = of_skill.terms.iter().filter(|(term, _)| !of_other.terms.contains_key(term));
            Some(TriggerConfusion {
                skill: *skill,
                other: *other,
                queries: queries.len(),
                of_other: lost.get(&(*other, *skill)).map_or(0, Vec::len),
                say: missing(queries, of_skill, &weights),
                own: weights.best(own, MAX_WORDS),
            })
        })
        .collect();
    // The sort is stable, and entries are in order of their names.
    confused.sort_by_key(|confusion| Reverse(confusion.queries));
    confused
}

/// Returns the words of `queries` that `skill` lacks, those of the most queries first, then the rarest.
fn missing(queries: &[&str], skill: &SkillClaims, weights: &TermWeights) -> Vec<String> {
    let queries: Vec<SkillClaims> = queries.iter().map(|query| SkillClaims::of("", query)).collect();
    let mut terms = BTreeMap::new();
    for (term, spelling) in queries.iter().flat_map(|query| &query.terms) {
        if !skill.terms.contains_key(term) {
            terms.entry(term).or_insert(spelling);
        }
    }
    let mut words = weights.best(terms, usize::MAX);
    words.sort_by_cached_key(|word| {
        let term = Term::of(word).0;
        Reverse(queries.iter().filter(|query| query.terms.contains_key(&term)).count())
    });
    words.truncate(MAX_WORDS);
    words
}
