//! A set of skills in an index.

use super::index::Slot;

/// A set of skills in an index: those that somebody may see.
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

    /// Takes `slot` out.
    pub fn remove(&mut self, slot: Slot) {
        if let Some(word) = self.0.get_mut(slot as usize / 64) {
            *word &= !(1 << (slot % 64));
        }
    }

    /// Returns whether `slot` is in it.
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
