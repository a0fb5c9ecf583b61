//! The index of a library: which skills have which words, and what they mean.

use std::sync::OnceLock;

use super::columns::{Columns, bytes_of};
use super::posting::{Posting, WeightTable};
use super::record::{Record, Term};
use super::segment::Segment;
use super::vector::Vector;
use super::weights::Weights;

/// How many skills may wait to be packed, or to be dropped, before all are packed anew.
const MAX_LOOSE: usize = 128;
/// How many skills are packed at once while a library is indexed, so that they do not pile up.
const BATCH: usize = 4096;

/// The place of a skill in an [`Index`], until skills are packed.
pub type Slot = u32;

/// Which skills have which words, and what they mean.
///
/// What it holds is a matter of the skills in it alone, however they came in: it ranks the same.
#[derive(Debug, Clone, Default)]
pub struct Index {
    pub(super) weights: Weights,
    pub(super) columns: Columns,
    pub(super) packed: Segment,
    /// The terms of the skills that are not packed; they come last.
    pub(super) loose: Vec<Vec<(Term, Posting)>>,
    /// The skills that are gone but still packed, sorted.
    pub(super) dropped: Vec<Slot>,
    /// How much shorter the body of each skill is than others; known once somebody asks.
    brevities: OnceLock<Vec<f32>>,
    table: OnceLock<Box<WeightTable>>,
}

/// What tells a skill in an index from others, and one version of it from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which skill it is.
    pub identity: u64,
    /// Which version of it.
    pub version: u64,
}

impl Index {
    /// Returns an index without skills that ranks by `weights`.
    pub fn new(weights: Weights) -> Self {
        Self { weights, ..Self::default() }
    }

    /// Returns the same skills, ranked by `weights`.
    pub fn with_weights(self, weights: Weights) -> Self {
        Self { weights, brevities: OnceLock::new(), table: OnceLock::new(), ..self }
    }

    /// Returns an index of skills that are packed.
    pub(super) fn of_parts(columns: Columns, packed: Segment) -> Self {
        Self { columns, packed, ..Self::default() }
    }

    /// Returns how many skills there are.
    pub fn len(&self) -> usize {
        self.columns.len() - self.dropped.len()
    }

    /// Returns whether there are no skills.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many slots there are, those of dropped skills included.
    pub fn slots(&self) -> usize {
        self.columns.len()
    }

    /// Returns about how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let loose: usize = self.loose.iter().map(bytes_of).sum();
        let brevities = self.brevities.get().map_or(0, bytes_of);
        let table = self.table.get().map_or(0, |table| size_of_val(&**table));
        let own = bytes_of(&self.loose) + bytes_of(&self.dropped) + brevities + table;
        size_of::<Self>() + own + loose + self.columns.bytes() + self.packed.bytes()
    }

    /// Returns the skills with their slots.
    pub fn keys(&self) -> impl Iterator<Item = (Slot, Key)> {
        (0..).zip(self.columns.keys.iter().copied()).filter(|(slot, _)| !self.is_dropped(*slot))
    }

    /// Adds a skill.
    pub fn add(&mut self, key: Key, record: Record, vector: Option<&Vector>) {
        if self.loose.len() >= BATCH {
            self.pack();
        }
        let Record { terms, name, pairs, length, described } = record;
        self.columns.push(key, (length, described), &name, &pairs, vector);
        self.loose.push(terms);
        self.brevities = OnceLock::new();
    }

    /// Drops the skill at `slot`.
    pub fn drop(&mut self, slot: Slot) {
        if (slot as usize) < self.columns.len()
            && let Err(place) = self.dropped.binary_search(&slot)
        {
            self.dropped.insert(place, slot);
            self.brevities = OnceLock::new();
        }
    }

    /// Packs the skills if many are loose or dropped. Returns whether it did, so that they are at other slots.
    pub fn settle(&mut self) -> bool {
        let is_due = self.loose.len() > MAX_LOOSE || self.dropped.len() > MAX_LOOSE;
        if is_due {
            self.pack();
        }
        is_due
    }

    /// Packs all skills; they are at other slots then.
    pub fn pack(&mut self) {
        let packed = self.columns.len() - self.loose.len();
        let mut next = 0;
        let places: Vec<Option<u32>> = (0..self.columns.len() as Slot)
            .map(|slot| {
                (!self.is_dropped(slot)).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        let (places, loose) = places.split_at(packed);
        let first = places.iter().flatten().count() as u32;
        let terms = std::mem::take(&mut self.loose).into_iter().zip(loose);
        let terms: Vec<Vec<(Term, Posting)>> =
            terms.filter(|(_, place)| place.is_some()).map(|(terms, _)| terms).collect();
        self.packed = self.packed.merged(places, first, &terms);
        let dropped = std::mem::take(&mut self.dropped);
        self.columns.retain(|slot| dropped.binary_search(&slot).is_err());
        self.brevities = OnceLock::new();
    }

    /// Returns whether no skill is loose or dropped.
    pub fn is_packed(&self) -> bool {
        self.loose.is_empty() && self.dropped.is_empty()
    }

    /// Returns whether the skill at `slot` is gone.
    pub(super) fn is_dropped(&self, slot: Slot) -> bool {
        self.dropped.binary_search(&slot).is_ok()
    }

    /// Returns the terms of the skills that are not packed, with their slots.
    pub(super) fn loose(&self) -> impl Iterator<Item = (Slot, &[(Term, Posting)])> {
        let first = (self.columns.len() - self.loose.len()) as Slot;
        (first..).zip(self.loose.iter().map(Vec::as_slice))
    }

    /// Returns what each posting weighs.
    pub(super) fn table(&self) -> &WeightTable {
        self.table.get_or_init(|| Box::new(WeightTable::new(&self.weights)))
    }

    /// Returns by how much the body of each skill is shorter than others, so that what it says counts for more.
    pub(super) fn brevities(&self) -> &[f32] {
        self.brevities.get_or_init(|| {
            let lengths = &self.columns.lengths;
            let live = (0..).zip(lengths).filter(|(slot, _)| !self.is_dropped(*slot));
            let total: u64 = live.map(|(_, length)| u64::from(*length)).sum();
            let average = (total as f64 / self.len().max(1) as f64).max(1.0) as f32;
            let share = self.weights.length;
            lengths.iter().map(|length| 1.0 / (1.0 - share + share * *length as f32 / average)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::SkillText;

    fn filled(count: u64) -> Index {
        let mut index = Index::default();
        for identity in 0..count {
            let name = format!("skill-{identity}");
            let skill = SkillText { name: &name, body: "Some words of a body.", ..SkillText::default() };
            let vector = Vector::of(&[identity as f32, 1.0]);
            index.add(Key { identity, version: 1 }, Record::of(&skill), vector.as_ref());
        }
        index
    }

    #[test]
    fn skills_are_packed_when_many_are_loose_or_dropped() {
        let mut index = filled(MAX_LOOSE as u64);
        assert!(!index.settle());
        index.drop(0);
        index.add(Key { identity: 999, version: 1 }, Record::default(), None);
        assert!(index.settle() && index.is_packed());
        assert_eq!((index.len(), index.slots()), (MAX_LOOSE, MAX_LOOSE));
        index.drop(7);
        index.drop(7);
        index.drop(9999);
        assert_eq!(index.len(), MAX_LOOSE - 1);
        assert!(index.keys().all(|(slot, _)| slot != 7));
    }

    #[test]
    fn packed_skills_take_less_memory() {
        let mut index = filled(500);
        let loose = index.bytes();
        index.pack();
        assert!(index.bytes() < loose, "{} {loose}", index.bytes());
        let packed = index.bytes();
        let read = Index::from_bytes(&index.to_bytes(1), 1).unwrap();
        assert!(read.bytes() < packed * 11 / 10, "{} {packed}", read.bytes());
        (0..500).for_each(|slot| index.drop(slot));
        index.pack();
        assert!(index.is_empty() && index.bytes() < packed / 10);
    }
}
