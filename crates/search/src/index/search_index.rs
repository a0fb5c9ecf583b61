//! The index of a library: the words and the embedding of every skill.

use std::collections::BTreeSet;
use std::sync::Arc;

use repertoire_model::checksum;
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct SkillKey {
    /// The identity of the skill.
    pub identity: u64,
    /// The version of the skill.
    pub version: u64,
}

/// The data of one skill beside its postings.
#[derive(Debug, PartialEq, Default, Serialize, Deserialize)]
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

/// The version of the records in stored indices. It is increased whenever the record of the same skill changes.
pub(crate) const EDITION: u64 = 9;

impl SearchIndex {
    /// Returns the index as bytes. `stamp` identifies the version and embedder that it was built with.
    pub fn to_bytes(&self, stamp: u64) -> Vec<u8> {
        let skills: Vec<&IndexedSkill> = self.skills.iter().map(|skill| &**skill).collect();
        let pairs: usize = self.skills.iter().map(|skill| skill.pairs.len()).sum();
        // More than it takes, so that it does not grow: that takes twice the memory for a moment.
        let mut bytes = Vec::with_capacity((self.postings.count() + pairs) * 8 + self.slots() * 1024);
        bytes.resize(16, 0);
        // Serializing these types to memory does not fail.
        bytes = postcard::to_extend(&(skills, &self.postings), bytes).unwrap_or_default();
        if let Some((head, payload)) = bytes.split_at_mut_checked(16) {
            head[..8].copy_from_slice(&stamp.to_le_bytes());
            head[8..].copy_from_slice(&checksum(payload).to_le_bytes());
        }
        bytes
    }

    /// Parses an index that ranks by `weights`; returns `None` if `bytes` are damaged or have another stamp.
    pub fn from_bytes(bytes: &[u8], stamp: u64, weights: Weights) -> Option<Self> {
        let (head, payload) = bytes.split_at_checked(16)?;
        if head[..8] != stamp.to_le_bytes() || head[8..] != checksum(payload).to_le_bytes() {
            return None;
        }
        let (skills, postings): (Vec<IndexedSkill>, Postings) = postcard::from_bytes(payload).ok()?;
        let skills = skills.into_iter().map(Arc::new).collect();
        let index = Self::of_parts(weights, skills, postings);
        index.postings.is_valid(index.slots()).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SkillKey, SkillRecord, SlotSet};
    use super::*;
    use crate::meaning::Vector;
    use crate::rank::Query;
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

    fn index() -> SearchIndex {
        let skills = (0..40).map(|identity| {
            let body = format!("Some words of body {}.", identity % 7);
            let record =
                SkillRecord::of(&SkillText { name: "pdf-forms", body: &body, ..SkillText::default() });
            (SkillKey { identity, version: 1 }, record, Vector::of(&[identity as f32, 1.0]))
        });
        SearchIndex::of(Weights::default(), skills)
    }

    #[test]
    fn a_stored_index_ranks_the_same() {
        let (index, query) = (index(), Query::new("words of body 3"));
        let read = SearchIndex::from_bytes(&index.to_bytes(7), 7, Weights::default()).unwrap();
        let found = |index: &SearchIndex| index.search(&query, &SlotSet::all(index.slots()), 10);
        assert_eq!(found(&index), found(&read));
        assert!(read.keys().eq(index.keys()));
    }

    #[test]
    fn the_edition_changes_with_the_records() {
        let skill = SkillText {
            name: "pdf-forms",
            description: "Fills PDF forms. Do not use for scanned images.",
            keywords: &["acroform"],
            body: "# Forms\nFill every field of a form.\n```sh\nfill_form --all BlobClient 翻译 café\n```\n",
            files: &["references/fields.md"],
        };
        let key = SkillKey { identity: 1, version: 1 };
        let vector = Vector::of(&[1.0, -0.3, 0.2]);
        let index = SearchIndex::of(Weights::default(), [(key, SkillRecord::of(&skill), vector)]);
        let bytes = checksum(&index.to_bytes(0));
        assert_eq!(
            (EDITION, bytes),
            (9, 1_662_014_346_424_124_718),
            "increase EDITION and note the new checksum here"
        );
    }

    #[test]
    fn damaged_bytes_and_other_stamps_are_refused() {
        let bytes = index().to_bytes(7);
        assert!(SearchIndex::from_bytes(&bytes, 8, Weights::default()).is_none());
        for length in 0..bytes.len() {
            assert!(SearchIndex::from_bytes(&bytes[..length], 7, Weights::default()).is_none());
        }
        for place in (0..bytes.len()).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            assert!(SearchIndex::from_bytes(&damaged, 7, Weights::default()).is_none(), "{place}");
        }
    }

    #[test]
    fn damaged_bytes_with_the_right_checksum_do_no_harm() {
        let bytes = index().to_bytes(7);
        for place in 16..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] = damaged[place].wrapping_add(1);
            let sum = checksum(&damaged[16..]);
            damaged[8..16].copy_from_slice(&sum.to_le_bytes());
            if let Some(index) = SearchIndex::from_bytes(&damaged, 7, Weights::default()) {
                let query = Query::new("pdf forms words").with_vector(Vector::of(&[1.0, 0.5]));
                index.search(&query, &SlotSet::all(index.slots()), 5);
            }
        }
    }
}
