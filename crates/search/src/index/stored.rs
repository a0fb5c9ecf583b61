//! The file format of an index.

use std::sync::Arc;

use repertoire_model::checksum;

use super::postings::Postings;
use super::search_index::{IndexedSkill, SearchIndex};
use super::weights::Weights;

/// The version of the records in stored indices. It is increased whenever the record of the same skill changes.
pub(crate) const EDITION: u64 = 8;

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
            (8, 1_662_014_346_424_124_718),
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
