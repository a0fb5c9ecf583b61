//! The index of a library: which skills have which words, and what they mean.

use std::sync::{Arc, OnceLock};

use super::merge::Limits;
use super::part::{Part, Tier};
use super::posting::WeightTable;
use super::query::Query;
use super::record::Record;
use super::vector::Vector;
use super::weights::Weights;

/// The place of a skill in an [`Index`], until skills are packed.
pub type Slot = u32;

/// Which skills have which words, and what they mean.
///
/// What it holds is a matter of the skills in it alone, however they came in: it ranks the same. A clone shares all that does not
/// change, so it costs next to nothing.
#[derive(Debug, Clone, Default)]
pub struct Index {
    pub(super) weights: Weights,
    pub(super) limits: Limits,
    /// Packed ones first, then those of one loose skill each.
    pub(super) tiers: Vec<Tier>,
    /// How many skills there are.
    skills: usize,
    /// How many words their bodies have together.
    words: u64,
    /// How much shorter the body of each skill is than others; known once somebody asks.
    brevities: OnceLock<Arc<Vec<f32>>>,
    table: OnceLock<Arc<WeightTable>>,
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

    /// Returns an index of packed parts, each with the skills in it that are gone.
    pub(super) fn of_parts(parts: impl IntoIterator<Item = (Part, Vec<u32>)>) -> Self {
        let mut index = Self::default();
        for (part, dropped) in parts {
            let tier = Tier { first: index.slots() as Slot, part: Arc::new(part), dropped };
            let lengths = (0..).zip(&tier.part.columns.lengths);
            let live = lengths.filter(|(place, _)| !tier.is_dropped(*place));
            index.words += live.map(|(_, length)| u64::from(*length)).sum::<u64>();
            index.skills += tier.len();
            index.tiers.push(tier);
        }
        index
    }

    /// Returns how many skills there are.
    pub fn len(&self) -> usize {
        self.skills
    }

    /// Returns whether there are no skills.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many slots there are, those of dropped skills included.
    pub fn slots(&self) -> usize {
        self.tiers.last().map_or(0, |tier| tier.range().end)
    }

    /// Returns about how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let tiers: usize = self.tiers.iter().map(Tier::bytes).sum();
        let brevities = self.brevities.get().map_or(0, |brevities| size_of_val(&brevities[..]));
        let table = self.table.get().map_or(0, |table| size_of_val(&**table));
        size_of::<Self>() + tiers + brevities + table
    }

    /// Returns whether what its skills mean can be compared with what `query` means: directions of other dimensions cannot.
    pub fn is_comparable(&self, query: &Query) -> bool {
        let dimensions = self.tiers.iter().map(|tier| tier.part.columns.vectors.dimensions);
        let mut known = dimensions.filter(|dimensions| *dimensions > 0);
        query.vector.as_ref().is_none_or(|vector| known.all(|dimensions| dimensions == vector.dimensions()))
    }

    /// Returns the skills with their slots.
    pub fn keys(&self) -> impl Iterator<Item = (Slot, Key)> {
        self.tiers.iter().flat_map(|tier| {
            let keys = (0..).zip(&tier.part.columns.keys);
            let live = keys.filter(|(place, _)| !tier.is_dropped(*place));
            live.map(|(place, key)| (tier.first + place, *key))
        })
    }

    /// Returns what the skill at `slot` is, or was; `None` where there is none.
    pub fn key(&self, slot: Slot) -> Option<Key> {
        let (tier, place) = self.at(slot)?;
        tier.part.columns.keys.get(place).copied()
    }

    /// Adds a skill, and returns its slot. Whoever adds many settles now and then: what is not packed takes more memory.
    pub fn add(&mut self, key: Key, record: Record, vector: Option<&Vector>) -> Slot {
        let first = self.slots() as Slot;
        self.skills += 1;
        self.words += u64::from(record.length);
        let part = Arc::new(Part::loose(key, record, vector));
        self.tiers.push(Tier { first, part, dropped: Vec::new() });
        self.forget();
        first
    }

    /// Drops the skill at `slot`.
    pub fn drop(&mut self, slot: Slot) {
        let Some(number) = self.tier_of(slot) else { return };
        let tier = &mut self.tiers[number];
        let place = slot - tier.first;
        if let Err(at) = tier.dropped.binary_search(&place) {
            tier.dropped.insert(at, place);
            self.skills -= 1;
            let length = tier.part.columns.lengths.get(place as usize);
            self.words -= length.map_or(0, |length| u64::from(*length));
            self.forget();
        }
    }

    /// Forgets what depends on which skills there are, and where they stand.
    pub(super) fn forget(&mut self) {
        self.brevities = OnceLock::new();
    }

    /// Returns in which part the skill at `slot` is.
    pub(super) fn tier_of(&self, slot: Slot) -> Option<usize> {
        let number = self.tiers.partition_point(|tier| tier.first <= slot).checked_sub(1)?;
        self.tiers[number].range().contains(&(slot as usize)).then_some(number)
    }

    /// Returns the part that the skill at `slot` is in, and its place there.
    pub(super) fn at(&self, slot: Slot) -> Option<(&Tier, usize)> {
        let tier = &self.tiers[self.tier_of(slot)?];
        Some((tier, (slot - tier.first) as usize))
    }

    /// Returns what each posting weighs.
    pub(super) fn table(&self) -> &WeightTable {
        self.table.get_or_init(|| Arc::new(WeightTable::new(&self.weights)))
    }

    /// Returns by how much the body of each skill is shorter than others, so that what it says counts for more.
    pub(super) fn brevities(&self) -> &[f32] {
        self.brevities.get_or_init(|| Arc::new(self.brevities_among(self.len(), self.words)))
    }

    /// Returns by how much the body of each skill is shorter than others where there are `count` with `words` words together.
    pub(super) fn brevities_among(&self, count: usize, words: u64) -> Vec<f32> {
        let average = (words as f64 / count.max(1) as f64).max(1.0) as f32;
        let share = self.weights.length;
        let mut brevities = Vec::with_capacity(self.slots());
        for tier in &self.tiers {
            let lengths = tier.part.columns.lengths.iter();
            brevities.extend(lengths.map(|length| 1.0 / (1.0 - share + share * *length as f32 / average)));
        }
        brevities
    }

    /// Returns how many words the bodies of all skills have together.
    pub(super) fn words(&self) -> u64 {
        self.words
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
    fn meanings_of_other_dimensions_are_not_compared() {
        let asked = |values: &[f32]| Query::new("words").meaning(Vector::of(values));
        let mut index = filled(3);
        index.pack();
        assert!(index.is_comparable(&asked(&[1.0, 1.0])) && index.is_comparable(&Query::new("words")));
        assert!(!index.is_comparable(&asked(&[1.0, 1.0, 1.0])));
        index.add(Key { identity: 9, version: 1 }, Record::default(), Vector::of(&[1.0, 0.0, 0.0]).as_ref());
        assert!(!index.is_comparable(&asked(&[1.0, 1.0])), "not all of them");
        assert!(Index::default().is_comparable(&asked(&[1.0])));
    }

    #[test]
    fn a_skill_is_dropped_once() {
        let mut index = filled(100);
        index.pack();
        index.drop(7);
        index.drop(7);
        index.drop(9999);
        assert_eq!((index.len(), index.slots()), (99, 100));
        assert!(index.keys().all(|(slot, _)| slot != 7));
        assert_eq!(index.key(7).map(|key| key.identity), Some(7), "what it was");
        assert_eq!(index.key(100), None);
        let mut other = index.clone();
        other.drop(8);
        assert_eq!((index.len(), other.len()), (99, 98), "a clone is an index of its own");
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
