//! The index of a library: the words and the embedding of every skill.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::posting::{Posting, WeightTable};
use super::postings::Postings;
use super::query::Query;
use super::record::{Pair, Record, Term};
use super::slots::Slot;
use super::vector::Vector;
use super::weights::Weights;

/// An immutable index of skills. Another one is [rebuilt](Self::rebuilt) from it when skills change.
///
/// The ranking depends on the skills in it alone, not on how it was built.
#[derive(Debug, Clone)]
pub struct Index {
    pub(super) weights: Weights,
    pub(super) table: WeightTable,
    pub(super) skills: Vec<Arc<IndexedSkill>>,
    /// The number of words of each body.
    pub(super) lengths: Vec<u32>,
    pub(super) postings: Postings,
    /// The numbers of dimensions that embeddings of its skills have; more than one only after an embedder changed.
    dimensions: BTreeSet<usize>,
}

/// Identifies a skill in an index, and one version of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Key {
    /// Identifies the skill.
    pub identity: u64,
    /// Identifies the version of the skill.
    pub version: u64,
}

/// The data of one skill beside its postings.
#[derive(Debug, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct IndexedSkill {
    pub(super) key: Key,
    /// The terms of the name.
    pub(super) name: Vec<Term>,
    /// The pairs of terms that stand side by side, sorted.
    pub(super) pairs: Vec<Pair>,
    /// The number of words of the body.
    pub(super) length: u32,
    /// The number of different words of the description.
    pub(super) described: u16,
    pub(super) vector: Option<Vector>,
}

/// The source of one skill of a rebuilt index.
#[derive(Debug)]
pub enum SkillSource {
    /// The skill at this slot of the index before.
    Kept(Slot),
    /// A new skill, or a new version of one.
    New(Key, Record, Option<Vector>),
    /// No skill: the slot stays empty.
    Empty,
}

impl Default for Index {
    fn default() -> Self {
        Self::new(Weights::default())
    }
}

impl Index {
    /// Returns an index without skills that ranks by `weights`.
    pub fn new(weights: Weights) -> Self {
        Self::of_parts(weights, Vec::new(), Postings::default())
    }

    /// Returns an index of these skills, which ranks by `weights`. Slots are numbered in their order.
    pub fn of(weights: Weights, skills: impl IntoIterator<Item = (Key, Record, Option<Vector>)>) -> Self {
        let sources = skills.into_iter().map(|(key, record, vector)| SkillSource::New(key, record, vector));
        Self::new(weights).rebuilt(sources)
    }

    /// Returns an index of the skills that `sources` name, at slots in their order.
    ///
    /// It takes one pass over all postings, whatever changed.
    #[must_use]
    pub fn rebuilt(&self, sources: impl IntoIterator<Item = SkillSource>) -> Self {
        let mut moves = vec![None; self.skills.len()];
        let mut added: Vec<(Term, Slot, Posting)> = Vec::new();
        let mut skills = Vec::with_capacity(self.skills.len());
        let empty = Arc::new(IndexedSkill::default());
        for (slot, source) in (0..).zip(sources) {
            let skill = match source {
                SkillSource::Kept(before) => match self.skills.get(before as usize) {
                    Some(skill) => {
                        moves[before as usize] = Some(slot);
                        Arc::clone(skill)
                    }
                    None => Arc::clone(&empty),
                },
                SkillSource::New(key, record, vector) => {
                    let Record { terms, name, pairs, length, described } = record;
                    added.extend(terms.into_iter().map(|(term, posting)| (term, slot, posting)));
                    Arc::new(IndexedSkill { key, name, pairs, length, described, vector })
                }
                SkillSource::Empty => Arc::clone(&empty),
            };
            skills.push(skill);
        }
        let postings = self.postings.rebuilt(&moves, added);
        Self::of_parts(self.weights.clone(), skills, postings)
    }

    pub(super) fn of_parts(weights: Weights, skills: Vec<Arc<IndexedSkill>>, postings: Postings) -> Self {
        let table = WeightTable::new(&weights);
        let lengths = skills.iter().map(|skill| skill.length).collect();
        let vectors = skills.iter().filter_map(|skill| skill.vector.as_ref());
        let dimensions = vectors.map(Vector::dimensions).collect();
        Self { weights, table, skills, lengths, postings, dimensions }
    }

    /// Returns the number of slots, empty ones included.
    pub fn slots(&self) -> usize {
        self.skills.len()
    }

    /// Returns the number of skills.
    pub fn len(&self) -> usize {
        self.keys().filter(|key| *key != Key::default()).count()
    }

    /// Returns whether there are no skills.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the key of each slot; that of an empty one is the default.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.skills.iter().map(|skill| skill.key)
    }

    /// Returns whether the embeddings of its skills have as many dimensions as that of `query`.
    pub fn is_comparable(&self, query: &Query) -> bool {
        query.dimensions().is_none_or(|dimensions| self.dimensions.iter().all(|other| *other == dimensions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::SkillText;

    fn source(identity: u64, vector: &[f32]) -> SkillSource {
        let name = format!("skill-{identity}");
        let skill = SkillText { name: &name, body: "Some words of a body.", ..SkillText::default() };
        SkillSource::New(Key { identity, version: 1 }, Record::of(&skill), Vector::of(vector))
    }

    #[test]
    fn embeddings_of_other_dimensions_are_not_comparable() {
        let index = Index::default().rebuilt((0..3).map(|identity| source(identity, &[1.0, 0.5])));
        let query = |values: &[f32]| Query::new("words").meaning(Vector::of(values));
        assert!(index.is_comparable(&query(&[1.0, 1.0])) && index.is_comparable(&Query::new("words")));
        assert!(!index.is_comparable(&query(&[1.0, 1.0, 1.0])));
        let kept = (0..3).map(SkillSource::Kept);
        let mixed = index.rebuilt(kept.chain([source(9, &[1.0, 0.0, 0.0])]));
        assert!(!mixed.is_comparable(&query(&[1.0, 1.0])), "one differs");
        assert!(Index::default().is_comparable(&query(&[1.0])));
    }

    #[test]
    fn a_rebuilt_index_does_not_change_the_one_before() {
        let index = Index::default().rebuilt((0..3).map(|identity| source(identity, &[1.0])));
        let other = index.rebuilt([SkillSource::Kept(2), SkillSource::Empty, SkillSource::Kept(99)]);
        let identities = |index: &Index| index.keys().map(|key| key.identity).collect::<Vec<_>>();
        assert_eq!(identities(&index), [0, 1, 2]);
        assert_eq!(identities(&other), [2, 0, 0], "empty where there is no such slot");
    }
}
