//! Slots of an index, and sets of them.

/// The position of a skill in a [`SearchIndex`](super::SearchIndex).
pub type Slot = u32;

/// A set of slots: the skills that a search may find.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlotSet(Vec<bool>);

impl SlotSet {
    /// Returns the set of the first `count` slots.
    pub fn all(count: usize) -> Self {
        Self(vec![true; count])
    }

    /// Adds `slot`.
    pub fn insert(&mut self, slot: Slot) {
        let place = slot as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, false);
        }
        self.0[place] = true;
    }

    /// Returns whether the set contains `slot`.
    pub fn contains(&self, slot: Slot) -> bool {
        self.0.get(slot as usize).copied().unwrap_or_default()
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
    fn a_set_contains_the_slots_that_were_added() {
        let set: SlotSet = [0, 2, 64, 200].into_iter().collect();
        let found: Vec<Slot> = (0..300).filter(|slot| set.contains(*slot)).collect();
        assert_eq!(found, [0, 2, 64, 200]);
        assert_eq!(SlotSet::all(3), [2, 0, 1].into_iter().collect());
    }
}
