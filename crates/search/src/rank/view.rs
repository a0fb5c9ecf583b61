//! The visible part of an index. Hidden skills neither appear nor change the result: document frequencies and
//! average lengths are counted among visible skills only.

use crate::index::{PostingList, SearchIndex, Slot, SlotSet};

/// The part of an index that a search may find.
pub(crate) struct View<'a> {
    /// The number of visible skills.
    pub(crate) count: usize,
    /// The length factor of each slot: above 1 for bodies shorter than the average.
    pub(crate) brevities: Vec<f32>,
    /// The slots that are not visible, sorted.
    pub(crate) hidden: Vec<Slot>,
    visible: &'a SlotSet,
}

impl<'a> View<'a> {
    /// Returns the part of `index` that is in `visible`.
    pub(crate) fn of(index: &SearchIndex, visible: &'a SlotSet) -> Self {
        let slots = 0..index.slots() as Slot;
        let hidden: Vec<Slot> = slots.filter(|slot| !visible.contains(*slot)).collect();
        let count = index.slots() - hidden.len();
        let all: u64 = index.lengths.iter().map(|length| u64::from(*length)).sum();
        let words = all - hidden.iter().map(|slot| u64::from(index.lengths[*slot as usize])).sum::<u64>();
        let average = (words as f64 / count.max(1) as f64).max(1.0) as f32;
        let share = index.weights.length;
        let lengths = index.lengths.iter();
        let brevities =
            lengths.map(|length| 1.0 / (1.0 - share + share * *length as f32 / average)).collect();
        Self { count, brevities, hidden, visible }
    }

    /// Returns the number of visible skills in `list`.
    pub(crate) fn holders(&self, list: PostingList<'_>) -> usize {
        list.slots.iter().filter(|slot| self.visible.contains(**slot)).count()
    }
}
