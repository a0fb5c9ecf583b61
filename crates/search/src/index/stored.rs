//! The file of an index: arrays of fixed-width numbers, so that reading it is little more than copying it.

use std::sync::Arc;

use repertoire_model::checksum;

use super::posting::Posting;
use super::postings::Postings;
use super::search_index::{IndexedSkill, SearchIndex, SkillKey};
use super::weights::Weights;
use crate::meaning::Vector;
use crate::words::{Term, TermPair};

/// The version of records in stored indices. It is increased whenever the record of the same skill changes.
pub(crate) const EDITION: u64 = 10;

impl SearchIndex {
    /// Returns the index as bytes. `stamp` identifies the version and embedder that it was built with.
    pub fn to_bytes(&self, stamp: u64) -> Vec<u8> {
        let pairs: usize = self.skills.iter().map(|skill| skill.pairs.len()).sum();
        // More than it takes, so that it does not grow: that takes twice the memory for a moment.
        let mut bytes = Vec::with_capacity((self.postings.count() + pairs) * 8 + self.slots() * 1024);
        bytes.resize(16, 0);
        bytes.extend((self.slots() as u32).to_le_bytes());
        for skill in &self.skills {
            let IndexedSkill { key, name, pairs, length, described, vector } = &**skill;
            put(&mut bytes, [key.identity, key.version].into_iter().map(u64::to_le_bytes));
            put(&mut bytes, name.iter().map(|term| term.0.to_le_bytes()));
            put(&mut bytes, pairs.iter().map(|pair| pair.0.to_le_bytes()));
            put(&mut bytes, [*length, u32::from(*described)].into_iter().map(u32::to_le_bytes));
            put(&mut bytes, vector.iter().map(|vector| vector.scale.to_le_bytes()));
            let steps = vector.as_ref().map_or(&[][..], |vector| &vector.steps);
            put(&mut bytes, steps.iter().map(|step| step.to_le_bytes()));
        }
        let Postings { terms, starts, slots, counts } = &self.postings;
        put(&mut bytes, terms.iter().map(|term| term.0.to_le_bytes()));
        put(&mut bytes, starts.iter().map(|start| start.to_le_bytes()));
        put(&mut bytes, slots.iter().map(|slot| slot.to_le_bytes()));
        put(&mut bytes, counts.iter().map(|count| count.0.to_le_bytes()));
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
        let (count, mut bytes) = payload.split_first_chunk()?;
        let skills: Option<Vec<Arc<IndexedSkill>>> =
            (0..u32::from_le_bytes(*count)).map(|_| Some(Arc::new(take_skill(&mut bytes)?))).collect();
        let postings = Postings {
            terms: take(&mut bytes)?.iter().map(|term| Term(u64::from_le_bytes(*term))).collect(),
            starts: take(&mut bytes)?.iter().map(|start| u32::from_le_bytes(*start)).collect(),
            slots: take(&mut bytes)?.iter().map(|slot| u32::from_le_bytes(*slot)).collect(),
            counts: take(&mut bytes)?.iter().map(|count| Posting(u16::from_le_bytes(*count))).collect(),
        };
        let index = Self::of_parts(weights, skills?, postings);
        index.postings.is_valid(index.slots()).then_some(index)
    }
}

/// Takes a skill from the start of `bytes`.
fn take_skill(bytes: &mut &[u8]) -> Option<IndexedSkill> {
    let [identity, version] = take(bytes)? else { return None };
    let key = SkillKey { identity: u64::from_le_bytes(*identity), version: u64::from_le_bytes(*version) };
    let name = take(bytes)?.iter().map(|term| Term(u64::from_le_bytes(*term))).collect();
    let pairs = take(bytes)?.iter().map(|pair| TermPair(u16::from_le_bytes(*pair))).collect();
    let [length, described] = take(bytes)? else { return None };
    let [length, described] = [*length, *described].map(u32::from_le_bytes);
    let scale = take(bytes)?.first().copied().map(f32::from_le_bytes);
    let steps: Vec<i8> = take(bytes)?.iter().map(|step| i8::from_le_bytes(*step)).collect();
    let vector = scale.map(|scale| Vector { steps, scale });
    Some(IndexedSkill { key, name, pairs, length, described: u16::try_from(described).ok()?, vector })
}

/// Appends the number of `values` and their bytes.
fn put<const N: usize>(bytes: &mut Vec<u8>, values: impl ExactSizeIterator<Item = [u8; N]>) {
    bytes.extend((values.len() as u32).to_le_bytes());
    values.for_each(|value| bytes.extend(value));
}

/// Takes the values that [`put`] wrote from the start of `bytes`.
fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [[u8; N]]> {
    let (count, rest) = bytes.split_first_chunk()?;
    let length = (u32::from_le_bytes(*count) as usize).checked_mul(N)?;
    let (values, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(values.as_chunks().0)
}

#[cfg(test)]
mod tests {
    use super::super::{SkillKey, SkillRecord, SlotSet};
    use super::*;
    use crate::rank::Query;
    use crate::skill_text::SkillText;

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
            (10, 17_633_121_944_653_079_412),
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
