//! Slots of an index, and sets of them.

/// The position of a skill in a [`SearchIndex`](super::SearchIndex).
pub type Slot = u32;

/// A set of slots: the skills that a search may find.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlotSet(Vec<u64>);

impl SlotSet {
    /// Returns the set of the first `count` slots.
    pub fn all(count: usize) -> Self {
        (0..count as Slot).collect()
    }

    /// Adds `slot`.
    pub fn insert(&mut self, slot: Slot) {
        let word = slot as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (slot % 64);
    }

    /// Returns the slots below `count` that are not in the set.
    pub(crate) fn missing(&self, count: usize) -> Vec<Slot> {
        let mut missing = Vec::new();
        for word in 0..count.div_ceil(64) {
            let mut bits = !self.0.get(word).copied().unwrap_or_default();
            while bits != 0 {
                missing.push((word * 64) as Slot + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        missing.truncate(missing.partition_point(|slot| (*slot as usize) < count));
        missing
    }

    /// Returns whether the set contains `slot`.
    #[inline]
    pub fn contains(&self, slot: Slot) -> bool {
        self.0.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }
}

impl FromIterator<Slot> for SlotSet {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> Self {
        let mut set = Self::default();
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_slots_are_those_not_in_the_set() {
        let set: SlotSet = [0, 2, 64, 65, 200].into_iter().collect();
        for count in [0, 1, 3, 64, 66, 130, 300] {
            let expected: Vec<Slot> = (0..count as Slot).filter(|slot| !set.contains(*slot)).collect();
            assert_eq!(set.missing(count), expected, "{count}");
        }
        assert!(SlotSet::all(100).missing(100).is_empty());
    }
}
