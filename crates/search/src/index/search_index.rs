//! The index of a library: the words and the embedding of every skill.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::posting::{Posting, WeightTable};
use super::postings::Postings;
use super::record::SkillRecord;
use super::slots::Slot;
use super::weights::Weights;
use crate::meaning::Vector;
use crate::words::{Term, TermPair};

/// An immutable index of skills. When skills change, a new one is [rebuilt](Self::rebuilt) from it.
///
/// The ranking depends only on the skills in the index, not on how it was built.
#[derive(Debug, Clone)]
pub struct SearchIndex {
    pub(crate) weights: Weights,
    pub(crate) table: WeightTable,
    pub(crate) skills: Vec<Arc<IndexedSkill>>,
    /// The number of words of each body.
    pub(crate) lengths: Vec<u32>,
    pub(crate) postings: Postings,
    /// The numbers of dimensions of the embeddings; there are several only after the embedder has changed.
    dimensions: BTreeSet<usize>,
}

/// Identifies a skill in an index, and one version of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SkillKey {
    /// The identity of the skill.
    pub identity: u64,
    /// The version of the skill.
    pub version: u64,
}

/// The data of one skill beside its postings.
#[derive(Debug, PartialEq, Default)]
pub(crate) struct IndexedSkill {
    pub(crate) key: SkillKey,
    pub(crate) name: Vec<Term>,
    /// The pairs of adjacent terms, sorted.
    pub(crate) pairs: Vec<TermPair>,
    /// The number of words of the body.
    pub(crate) length: u32,
    /// The number of different words of the description.
    pub(crate) described: u16,
    pub(crate) vector: Option<Vector>,
}

/// The source of one skill of a rebuilt index.
#[derive(Debug)]
pub enum SkillSource {
    /// The skill at this slot of the previous index.
    Kept(Slot),
    /// A new skill, or a new version of one.
    New(SkillKey, SkillRecord, Option<Vector>),
    /// No skill: the slot stays empty.
    Empty,
}

impl Default for SearchIndex {
    fn default() -> Self {
        Self::new(Weights::default())
    }
}

impl SearchIndex {
    /// Returns an index without skills that ranks by `weights`.
    pub fn new(weights: Weights) -> Self {
        Self::of_parts(weights, Vec::new(), Postings::default())
    }

    /// Returns an index of these skills that ranks by `weights`. Slots are numbered in their order.
    pub fn of(
        weights: Weights,
        skills: impl IntoIterator<Item = (SkillKey, SkillRecord, Option<Vector>)>,
    ) -> Self {
        let sources = skills.into_iter().map(|(key, record, vector)| SkillSource::New(key, record, vector));
        Self::new(weights).rebuilt(sources)
    }

    /// Returns an index of the skills in `sources`, with slots in their order.
    ///
    /// It takes one pass over all postings, however many skills have changed.
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
                    let SkillRecord { terms, name, pairs, length, described } = record;
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

    pub(crate) fn of_parts(weights: Weights, skills: Vec<Arc<IndexedSkill>>, postings: Postings) -> Self {
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
    pub fn skills(&self) -> usize {
        self.keys().filter(|key| *key != SkillKey::default()).count()
    }

    /// Returns the key of each slot; empty slots have the default key.
    pub fn keys(&self) -> impl Iterator<Item = SkillKey> {
        self.skills.iter().map(|skill| skill.key)
    }

    /// Returns whether all embeddings of its skills have this number of dimensions.
    pub(crate) fn has_dimensions(&self, dimensions: usize) -> bool {
        self.dimensions.iter().all(|other| *other == dimensions)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SkillKey, SkillRecord};
    use super::*;
    use crate::meaning::Vector;
    use crate::skill_text::SkillText;

    fn source(identity: u64, vector: &[f32]) -> SkillSource {
        let name = format!("skill-{identity}");
        let skill = SkillText { name: &name, body: "Some words of a body.", ..SkillText::default() };
        SkillSource::New(SkillKey { identity, version: 1 }, SkillRecord::of(&skill), Vector::of(vector))
    }

    #[test]
    fn embeddings_of_other_dimensions_are_not_comparable() {
        let index = SearchIndex::default().rebuilt((0..3).map(|identity| source(identity, &[1.0, 0.5])));
        assert!(index.has_dimensions(2) && !index.has_dimensions(3));
        let kept = (0..3).map(SkillSource::Kept);
        let mixed = index.rebuilt(kept.chain([source(9, &[1.0, 0.0, 0.0])]));
        assert!(!mixed.has_dimensions(2), "one differs");
        assert!(SearchIndex::default().has_dimensions(1));
    }

    #[test]
    fn rebuilding_does_not_change_the_previous_index() {
        let index = SearchIndex::default().rebuilt((0..3).map(|identity| source(identity, &[1.0])));
        let other = index.rebuilt([SkillSource::Kept(2), SkillSource::Empty, SkillSource::Kept(99)]);
        let identities = |index: &SearchIndex| index.keys().map(|key| key.identity).collect::<Vec<_>>();
        assert_eq!(identities(&index), [0, 1, 2]);
        assert_eq!(identities(&other), [2, 0, 0], "empty where there is no such slot");
    }
}
