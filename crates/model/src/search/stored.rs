//! The bytes of an index that is stored between runs.

use std::sync::Arc;

use super::index::{Index, IndexedSkill};
use super::postings::Postings;
use super::weights::Weights;
use crate::checksum;

impl Index {
    /// Returns its bytes; `stamp` identifies what they were made with.
    pub fn to_bytes(&self, stamp: u64) -> Vec<u8> {
        let skills: Vec<&IndexedSkill> = self.skills.iter().map(|skill| &**skill).collect();
        let mut bytes = vec![0; 16];
        // Writing to memory fails for no value of these types.
        bytes = postcard::to_extend(&(skills, &self.postings), bytes).unwrap_or_default();
        if let Some((head, payload)) = bytes.split_at_mut_checked(16) {
            head[..8].copy_from_slice(&stamp.to_le_bytes());
            head[8..].copy_from_slice(&checksum(payload).to_le_bytes());
        }
        bytes
    }

    /// Returns the index in `bytes`, which ranks by `weights`; `None` if they are damaged or made with another stamp.
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
    use super::super::{Key, Query, Record, SkillText, SlotSet, Vector};
    use super::*;

    fn index() -> Index {
        let skills = (0..40).map(|identity| {
            let body = format!("Some words of body {}.", identity % 7);
            let record = Record::of(&SkillText { name: "pdf-forms", body: &body, ..SkillText::default() });
            (Key { identity, version: 1 }, record, Vector::of(&[identity as f32, 1.0]))
        });
        Index::of(Weights::default(), skills)
    }

    #[test]
    fn a_stored_index_ranks_the_same() {
        let (index, query) = (index(), Query::new("words of body 3"));
        let read = Index::from_bytes(&index.to_bytes(7), 7, Weights::default()).unwrap();
        let found = |index: &Index| index.search(&query, &SlotSet::all(index.slots()), 10);
        assert_eq!(found(&index), found(&read));
        assert!(read.keys().eq(index.keys()));
    }

    #[test]
    fn damaged_bytes_and_other_stamps_are_refused() {
        let bytes = index().to_bytes(7);
        assert!(Index::from_bytes(&bytes, 8, Weights::default()).is_none());
        for length in 0..bytes.len() {
            assert!(Index::from_bytes(&bytes[..length], 7, Weights::default()).is_none());
        }
        for place in (0..bytes.len()).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            assert!(Index::from_bytes(&damaged, 7, Weights::default()).is_none(), "{place}");
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
            if let Some(index) = Index::from_bytes(&damaged, 7, Weights::default()) {
                let query = Query::new("pdf forms words").meaning(Vector::of(&[1.0, 0.5]));
                index.search(&query, &SlotSet::all(index.slots()), 5);
            }
        }
    }
}
