//! What of an index somebody sees. Whatever is hidden from them neither appears nor changes what they find: how rare words are, and how
//! long bodies, is counted among what they see.

use std::borrow::Cow;

use super::index::{Index, Slot};
use super::segment::List;
use super::slots::SlotSet;

/// What of an index somebody sees.
pub(super) struct View<'a> {
    /// How many skills.
    pub(super) count: usize,
    /// How much shorter the body of each skill is than others.
    pub(super) brevities: Cow<'a, [f32]>,
    /// The skills of each part that are gone or not seen, by their places, sorted.
    hidden: Vec<Cow<'a, [u32]>>,
    /// What is seen, and perhaps what is gone.
    seen: &'a SlotSet,
}

impl<'a> View<'a> {
    /// Returns what `seen` are of `index`.
    pub(super) fn of(index: &'a Index, seen: &'a SlotSet) -> Self {
        let mut hidden: Vec<Cow<'a, [u32]>> =
            index.tiers.iter().map(|tier| Cow::Borrowed(tier.dropped.as_slice())).collect();
        let (mut count, mut words) = (index.len(), index.words());
        for slot in seen.missing(index.slots()) {
            let Some(number) = index.tier_of(slot) else { continue };
            let tier = &index.tiers[number];
            let place = slot - tier.first;
            if !tier.is_dropped(place) {
                hidden[number].to_mut().push(place);
                count -= 1;
                words -= u64::from(tier.part.columns.lengths[place as usize]);
            }
        }
        // Those that are gone came first.
        hidden.iter_mut().filter(|places| matches!(places, Cow::Owned(_))).for_each(|places| {
            places.to_mut().sort_unstable();
        });
        let brevities = match count == index.len() {
            true => Cow::Borrowed(index.brevities()),
            false => Cow::Owned(index.brevities_among(count, words)),
        };
        Self { count, brevities, hidden, seen }
    }

    /// Returns the slots that are gone or not seen.
    pub(super) fn hidden(&self, index: &Index) -> impl Iterator<Item = Slot> {
        index.tiers.iter().zip(&self.hidden).flat_map(|(tier, hidden)| {
            let first = tier.first;
            hidden.iter().map(move |place| first + place)
        })
    }

    /// Returns how many of the skills in `list`, one of the part `number`, are seen.
    pub(super) fn holders(&self, index: &Index, number: usize, list: List<'_>) -> usize {
        let hidden = &self.hidden[number];
        if hidden.len() <= list.count {
            return list.count.saturating_sub(list.count_of(hidden));
        }
        // Far more are hidden than have it, so those that have it are asked for.
        let tier = &index.tiers[number];
        let mut holders = 0;
        list.each(|place, _| {
            let is_seen = self.seen.contains(tier.first + place) && !tier.is_dropped(place);
            holders += usize::from(is_seen);
        });
        holders
    }
}
