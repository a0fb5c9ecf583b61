//! Packs parts of an index together, while it is searched and changed.
//!
//! Parts stand one after the other, each several times as large as the next, so that a skill is packed anew a few times while
//! thousands come after it. One part is packed anew by itself once a share of its skills is gone. None is ever larger than
//! [`MAX_PART`], so that packing takes little memory beside the index, and ends soon.

use std::sync::Arc;

use super::columns::Columns;
use super::index::{Index, Slot};
use super::part::{Part, Postings, Tier};
use super::segment::{Input, MAX_SKILLS, Segment};

/// How many times as large as the next a part is at least, unless both together were too large.
const RATIO: usize = 4;
/// Which share of a part may be gone: counting those takes time in every search.
const STALE_SHARE: usize = 16;
/// How many of its skills may be gone in any case.
const MAX_STALE: usize = 8;
/// The most skills of a part.
const MAX_PART: usize = MAX_SKILLS;

/// How much of an index is packed together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How many skills may wait to be packed: each is looked at alone by every search.
    pub(super) loose: usize,
    /// The most skills of a part.
    pub(super) part: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { loose: 32, part: MAX_PART }
    }
}

/// Parts of an index that are to be one. They are packed by [`Merge::run`], for which the index is not needed.
#[derive(Debug)]
pub struct Merge {
    inputs: Vec<Tier>,
}

/// Parts that were packed, for [`Index::take`].
#[derive(Debug)]
pub struct Merged {
    inputs: Vec<Tier>,
    /// Where each skill of each part went.
    places: Vec<Vec<Option<u32>>>,
    part: Arc<Part>,
}

/// To which slots skills moved.
#[derive(Debug)]
pub struct Moves {
    first: Slot,
    /// Where the skills from `first` on went.
    places: Vec<Option<Slot>>,
    /// How many slots there are less.
    gone: Slot,
}

impl Limits {
    /// Returns whether `tier` is too small to stand before a part of `count` skills, and is to be one with it.
    fn join(self, tier: &Tier, count: usize) -> bool {
        tier.len() < count.saturating_mul(RATIO) && tier.len() + count <= self.part
    }
}

impl Moves {
    /// Returns where the skill that was at `slot` stands now; `None` where it is gone.
    pub fn of(&self, slot: Slot) -> Option<Slot> {
        match slot.checked_sub(self.first) {
            None => Some(slot),
            Some(place) => match self.places.get(place as usize) {
                Some(place) => *place,
                None => slot.checked_sub(self.gone),
            },
        }
    }
}

impl Merge {
    /// Packs the parts together, without the skills that are gone.
    pub fn run(self) -> Merged {
        let Self { inputs } = self;
        let mut next = 0;
        let places: Vec<Vec<Option<u32>>> = inputs
            .iter()
            .map(|tier| {
                let mut dropped = tier.dropped.iter().copied().peekable();
                let place = |place: u32| {
                    if dropped.next_if_eq(&place).is_some() {
                        return None;
                    }
                    next += 1;
                    Some(next - 1)
                };
                (0..tier.slots() as u32).map(place).collect()
            })
            .collect();
        let (mut packed, mut loose) = (Vec::new(), Vec::new());
        for (tier, places) in inputs.iter().zip(&places) {
            match &tier.part.postings {
                Postings::Packed(segment) => packed.push(Input { segment, places }),
                Postings::Loose(terms) => {
                    loose.extend(places.iter().flatten().map(|place| (*place, terms.as_slice())));
                }
            }
        }
        let columns: Vec<(&Columns, &[Option<u32>])> = inputs
            .iter()
            .zip(&places)
            .map(|(tier, places)| (&tier.part.columns, places.as_slice()))
            .collect();
        let part = Part {
            postings: Postings::Packed(Segment::packed(&packed, &loose)),
            columns: Columns::packed(&columns),
        };
        Merged { inputs, places, part: Arc::new(part) }
    }
}

impl Index {
    /// Returns what should be packed, if anything should. It can be done aside, while the index is searched and changed, and
    /// be put in with [`Index::take`].
    pub fn due(&self) -> Option<Merge> {
        let is_stale = |tier: &Tier| tier.dropped.len() > MAX_STALE.max(tier.slots() / STALE_SHARE);
        self.beyond(self.limits.loose, is_stale)
    }

    /// Returns what should be packed because too many skills are not, which takes time in proportion to how many these are.
    pub fn crowded(&self) -> Option<Merge> {
        self.loose_beyond(self.limits.loose)
    }

    /// Packs all that should be. Returns whether anything was, so that skills are at other slots.
    pub fn settle(&mut self) -> bool {
        self.pack_while(Self::due)
    }

    /// Packs all skills that are not packed, and gives up the places of those that are gone; skills are at other slots then.
    pub fn pack(&mut self) {
        self.pack_while(|index| index.beyond(0, |tier| !tier.dropped.is_empty()));
    }

    /// Packs the skills that are not packed.
    pub(super) fn pack_loose(&mut self) {
        self.pack_while(|index| index.beyond(0, |_| false));
    }

    fn pack_while(&mut self, due: impl Fn(&Self) -> Option<Merge>) -> bool {
        let mut is_packed = false;
        while let Some(merge) = due(self) {
            is_packed |= self.take(merge.run()).is_some();
        }
        is_packed
    }

    /// Returns what is to be packed where more than `most` skills are loose, a part is stale, or too small for where it stands.
    pub(super) fn beyond(&self, most: usize, is_stale: impl Fn(&Tier) -> bool) -> Option<Merge> {
        self.loose_beyond(most).or_else(|| {
            let packed = &self.tiers[..self.first_loose()];
            if let Some(stale) = packed.iter().position(is_stale) {
                return Some(Merge { inputs: vec![packed[stale].clone()] });
            }
            let small = packed.windows(2).find(|pair| self.limits.join(&pair[0], pair[1].len()));
            small.map(|pair| Merge { inputs: pair.to_vec() })
        })
    }

    /// Returns what is to be packed where more than `most` skills are loose: those, and the parts that they would soon go with anyway.
    fn loose_beyond(&self, most: usize) -> Option<Merge> {
        let mut start = self.first_loose();
        let loose = self.tiers.len() - start;
        if loose <= most {
            return None;
        }
        let end = start + loose.min(self.limits.part);
        let mut count = end - start;
        while let Some(before) =
            start.checked_sub(1).filter(|before| self.limits.join(&self.tiers[*before], count))
        {
            count += self.tiers[before].len();
            start = before;
        }
        Some(Merge { inputs: self.tiers[start..end].to_vec() })
    }

    fn first_loose(&self) -> usize {
        self.tiers.partition_point(|tier| !tier.is_loose())
    }

    /// Puts in what was packed, and returns to which slots skills moved; `None` where the index no longer has what it was made of.
    pub fn take(&mut self, merged: Merged) -> Option<Moves> {
        let Merged { inputs, places, part } = merged;
        let is_at = |start: &usize| {
            let tiers = self.tiers.get(*start..*start + inputs.len()).unwrap_or_default();
            tiers.len() == inputs.len()
                && tiers.iter().zip(&inputs).all(|(tier, input)| Arc::ptr_eq(&tier.part, &input.part))
        };
        let start = (0..self.tiers.len()).find(is_at)?;
        let range = start..start + inputs.len();
        let first = self.tiers[start].first;
        // Skills may have gone meanwhile.
        let dropped = self.tiers[range.clone()].iter().zip(&places).flat_map(|(tier, places)| {
            tier.dropped.iter().filter_map(|place| places.get(*place as usize).copied().flatten())
        });
        let dropped: Vec<u32> = dropped.collect();
        let places: Vec<Option<Slot>> =
            places.into_iter().flatten().map(|place| place.map(|place| first + place)).collect();
        let gone = (places.len() - part.columns.len()) as Slot;
        let is_empty = part.columns.len() == 0;
        let tier = Tier { first, part, dropped };
        self.tiers.splice(range.clone(), (!is_empty).then_some(tier));
        let after = range.start + usize::from(!is_empty);
        self.tiers[after..].iter_mut().for_each(|tier| tier.first -= gone);
        self.forget();
        Some(Moves { first, places, gone })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Key, Record};
    use super::*;

    fn filled(identities: std::ops::Range<u64>) -> Index {
        let mut index = Index::default();
        identities.for_each(|identity| add(&mut index, identity));
        index
    }

    fn add(index: &mut Index, identity: u64) {
        index.add(Key { identity, version: 1 }, Record::default(), None);
    }

    fn sizes(index: &Index) -> Vec<usize> {
        index.tiers.iter().map(Tier::slots).collect()
    }

    #[test]
    fn parts_are_few_and_seldom_packed_anew() {
        let mut index = Index::default();
        let mut packed = 0;
        for identity in 0..10_000 {
            add(&mut index, identity);
            while let Some(merge) = index.due() {
                let merged = merge.run();
                packed += merged.part.columns.len();
                index.take(merged).unwrap();
            }
        }
        assert!(packed < 10_000 * 20, "{packed}");
        index.pack();
        assert!(sizes(&index).len() <= 6, "{:?}", sizes(&index));
        assert!(sizes(&index).windows(2).all(|pair| pair[0] >= pair[1] * RATIO), "{:?}", sizes(&index));
        assert!(index.due().is_none());
    }

    #[test]
    fn a_large_part_is_packed_anew_when_a_share_of_it_is_gone() {
        let mut index = filled(0..1600);
        index.pack();
        (0..100).for_each(|slot| index.drop(slot * 3));
        assert!(!index.settle());
        index.drop(1);
        assert!(index.settle());
        assert_eq!((sizes(&index), index.len()), (vec![1499], 1499));
        (0..1499).for_each(|slot| index.drop(slot));
        index.pack();
        assert!(sizes(&index).is_empty() && index.is_empty());
    }

    #[test]
    fn parts_do_not_grow_without_end() {
        let mut index = Index::default();
        for identity in 0..(MAX_PART as u64 * 3) {
            add(&mut index, identity);
            if identity % 1024 == 0 {
                index.settle();
            }
        }
        index.pack();
        assert!(sizes(&index).iter().all(|size| *size <= MAX_PART) && sizes(&index).len() < 12);
        assert_eq!(index.len(), MAX_PART * 3);

        // Also where all come at once.
        let mut index = filled(0..MAX_PART as u64 + 10);
        index.pack();
        assert_eq!(sizes(&index), [MAX_PART, 10]);
    }

    #[test]
    fn what_changes_meanwhile_is_kept() {
        let mut index = filled(0..40);
        index.drop(3);
        let merge = index.due().unwrap();
        // While they are packed, some go, some come, and others are packed.
        index.drop(5);
        add(&mut index, 99);
        let before: BTreeMap<Slot, Key> = index.keys().collect();
        let moves = index.take(merge.run()).unwrap();
        assert_eq!(moves.of(3), None);
        let moved: BTreeMap<Slot, Key> =
            before.into_iter().filter_map(|(slot, key)| Some((moves.of(slot)?, key))).collect();
        assert_eq!(moved, index.keys().collect());
        assert_eq!((index.len(), index.slots()), (39, 40));

        let merge = index.beyond(0, |_| true).unwrap();
        index.pack();
        assert!(index.take(merge.run()).is_none(), "what it was made of is gone");
        assert_eq!(index.len(), 39);
    }
}
