//! The skills that may be what is asked for, with what their words are worth and which they have.

use std::cmp::Ordering;

use fearless_simd::{Level, Simd, dispatch};

use super::index::Slot;
use super::posting::{Posting, WeightTable};
use super::segment::{List, Map};

/// A skill that may be what is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Candidate {
    pub(super) slot: Slot,
    /// What its words are worth, as far as they were looked up.
    pub(super) score: f32,
    /// Which words it has, a bit each, as far as they were looked up.
    pub(super) has: u64,
}

/// The skills that may be what is asked for.
#[derive(Debug)]
pub(super) struct Candidates {
    /// In the order of their slots. The first stands for all other skills: to add to it costs less than to ask whose a posting is.
    all: Vec<Candidate>,
    /// The place of each slot in `all`.
    places: Vec<u32>,
}

/// A word that is looked up in the skills of a part.
pub(super) struct Lookup<'a> {
    pub(super) list: List<'a>,
    /// The slots of the part.
    pub(super) range: std::ops::Range<usize>,
    /// The bit of the word.
    pub(super) bit: u64,
    /// What it can add to a score at most.
    pub(super) weight: f32,
    pub(super) saturation: f32,
    pub(super) table: &'a WeightTable,
    /// By how much the body of each skill of the index is shorter than others.
    pub(super) brevities: &'a [f32],
}

impl Candidates {
    /// Returns the candidates at `slots`, which are sorted, with what their words are worth so far.
    pub(super) fn new(slots: &[Slot], scores: &[f32]) -> Self {
        let mut places = vec![0; scores.len()];
        let mut all = Vec::with_capacity(slots.len() + 1);
        all.push(Candidate::default());
        for (place, slot) in (1..).zip(slots) {
            places[*slot as usize] = place;
            all.push(Candidate { slot: *slot, score: scores[*slot as usize], has: 0 });
        }
        Self { all, places }
    }

    /// Returns the candidates, in the order of their slots.
    pub(super) fn all(&self) -> &[Candidate] {
        &self.all[1..]
    }

    /// Keeps the best `count` of them.
    pub(super) fn keep(&mut self, count: usize, better: impl Fn(&Candidate, &Candidate) -> Ordering) {
        let all = &mut self.all[1..];
        if all.len() <= count {
            return;
        }
        all.select_nth_unstable_by(count, better);
        all[count..].iter().for_each(|candidate| self.places[candidate.slot as usize] = 0);
        all[..count].sort_unstable_by_key(|candidate| candidate.slot);
        self.all.truncate(count + 1);
        for (place, candidate) in (1..).zip(&self.all[1..]) {
            self.places[candidate.slot as usize] = place;
        }
    }

    /// Adds what a word is worth to each candidate that has it, and marks them.
    pub(super) fn look_up(&mut self, lookup: &Lookup<'_>) {
        match lookup.list.map() {
            Some(map) => dispatch!(Level::new(), simd => self.look_up_in_map(simd, lookup, map)),
            None => self.look_up_along_list(lookup),
        }
    }

    fn look_up_along_list(&mut self, lookup: &Lookup<'_>) {
        let (places, brevities) =
            (&self.places[lookup.range.clone()], &lookup.brevities[lookup.range.clone()]);
        lookup.list.each(|place, posting| {
            if let (Some(place), Some(brevity)) = (places.get(place as usize), brevities.get(place as usize))
            {
                let candidate = &mut self.all[*place as usize];
                candidate.score += lookup.worth(posting, *brevity);
                candidate.has |= lookup.bit;
            }
        });
    }

    /// Looks a word up that many skills have, with whatever instructions the processor has. Nobody can foresee which have it, so that is
    /// not asked but reckoned: to those that have not it is worth 0.
    #[inline(always)]
    fn look_up_in_map<S: Simd>(&mut self, _: S, lookup: &Lookup<'_>, map: Map<'_>) {
        let range = lookup.range.start as Slot..lookup.range.end as Slot;
        let all = &mut self.all[1..];
        let start = all.partition_point(|candidate| candidate.slot < range.start);
        let end = all.partition_point(|candidate| candidate.slot < range.end);
        for candidate in &mut all[start..end] {
            let posting = map.posting(candidate.slot - range.start);
            candidate.score += lookup.worth(posting, lookup.brevities[candidate.slot as usize]);
            candidate.has |= lookup.bit * u64::from(posting.bits() != 0);
        }
    }
}

impl Lookup<'_> {
    /// Returns what `posting` is worth to a skill whose body is shorter than others by `brevity`.
    #[inline(always)]
    fn worth(&self, posting: Posting, brevity: f32) -> f32 {
        worth(self.table.weigh(posting, brevity), self.weight, self.saturation)
    }
}

/// Returns what a word adds to a score that can add `weight` at most, where it weighs `value`.
#[inline(always)]
pub(super) fn worth(value: f32, weight: f32, saturation: f32) -> f32 {
    // Where nothing is there, nothing is worth 0, even if nothing were enough for a half.
    weight * value / (saturation + value).max(f32::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::Weights;
    use super::super::record::Term;
    use super::super::segment::Segment;
    use super::*;

    proptest! {
        #[test]
        fn a_word_counts_for_those_that_have_it(
            // Few or many have it, so that its list is of either form.
            share in prop_oneof![Just(0.02), Just(0.5)],
            skills in vec((1u16.., 0.0..1.0, any::<bool>(), 0.1f32..2.0), 1..400),
            first in 0u32..3,
        ) {
            let has = |place: usize| skills[place].1 < share;
            let terms: Vec<Vec<(Term, Posting)>> = (0..skills.len())
                .map(|place| has(place).then_some((Term(7), Posting::from_bits(skills[place].0))).into_iter().collect())
                .collect();
            let segment = Segment::packed(&[], &(0..).zip(terms.iter().map(Vec::as_slice)).collect::<Vec<_>>());
            let weights = Weights::default();
            let (table, saturation) = (WeightTable::new(&weights), weights.saturation);
            // Skills of another part come before.
            let end = first as usize + skills.len();
            let scores = vec![0.5; end];
            let brevities: Vec<f32> = vec![1.0; first as usize].into_iter().chain(skills.iter().map(|skill| skill.3)).collect();
            let slots: Vec<Slot> = (0..end as Slot)
                .filter(|slot| slot.checked_sub(first).is_none_or(|place| skills[place as usize].2))
                .collect();
            let mut candidates = Candidates::new(&slots, &scores);
            if let Some(list) = segment.list(Term(7)) {
                let range = first as usize..end;
                let lookup = Lookup { list, range, bit: 4, weight: 1.5, saturation, table: &table, brevities: &brevities };
                candidates.look_up(&lookup);
            }
            prop_assert_eq!(candidates.all().len(), slots.len());
            for (candidate, slot) in candidates.all().iter().zip(&slots) {
                let place = slot.checked_sub(first).map(|place| place as usize).filter(|place| has(*place));
                let worth = place.map_or(0.0, |place| {
                    worth(table.weigh(Posting::from_bits(skills[place].0), skills[place].3), 1.5, saturation)
                });
                let expected = (*slot, 0.5 + worth, if place.is_some() { 4 } else { 0 });
                prop_assert_eq!((candidate.slot, candidate.score, candidate.has), expected);
            }
        }

        #[test]
        fn the_best_are_kept(scores in vec(0.0f32..1.0, 1..50), count in 1usize..60) {
            let slots: Vec<Slot> = (0..scores.len() as Slot).collect();
            let mut candidates = Candidates::new(&slots, &scores);
            candidates.keep(count, |a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
            let mut expected = slots;
            expected.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]).then(a.cmp(b)));
            expected.truncate(count);
            expected.sort_unstable();
            let kept: Vec<Slot> = candidates.all().iter().map(|candidate| candidate.slot).collect();
            prop_assert_eq!(&kept, &expected);
            let placed = (0..).zip(&candidates.places).filter(|(_, place)| **place > 0);
            let placed: Vec<Slot> = placed.map(|(slot, _): (Slot, _)| slot).collect();
            prop_assert_eq!(kept, placed);
        }
    }
}
