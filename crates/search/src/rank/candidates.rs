//! The candidates of a search: skills with the scores of the words looked up so far.

use std::cmp::Ordering;

use crate::index::{Posting, PostingList, Slot, WeightTable};

/// A candidate skill.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Candidate {
    pub(crate) slot: Slot,
    /// The score of the words looked up so far.
    pub(crate) score: f32,
    /// The words looked up so far that it has, as bits.
    pub(crate) has: u64,
}

/// The candidates of a search.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// The candidates in the order of their slots. The first one is a dummy for all other skills: adding to it costs less
    /// than a branch.
    all: Vec<Candidate>,
    /// The position of each slot in `all`.
    places: Vec<u32>,
}

/// A posting list longer than this times the number of candidates is searched instead of scanned.
const LONG_LIST: usize = 16;

/// A query word to look up in the candidates.
pub(crate) struct TermLookup<'a> {
    pub(crate) list: PostingList<'a>,
    /// The bit of the word.
    pub(crate) bit: u64,
    /// The most that it can add to a score.
    pub(crate) weight: f32,
    pub(crate) saturation: f32,
    pub(crate) table: &'a WeightTable,
    /// The length factor of each slot: above 1 for bodies shorter than the average.
    pub(crate) brevities: &'a [f32],
}

impl Candidates {
    /// Returns the candidates at `slots`, which are sorted, with their scores so far.
    pub(crate) fn new(slots: &[Slot], scores: &[f32]) -> Self {
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
    pub(crate) fn all(&self) -> &[Candidate] {
        &self.all[1..]
    }

    /// Keeps the best `count` candidates.
    pub(crate) fn keep(&mut self, count: usize, better: impl Fn(&Candidate, &Candidate) -> Ordering) {
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

    /// Adds the score of a word to each candidate that has it, and sets the bit of the word.
    pub(crate) fn look_up(&mut self, lookup: &TermLookup<'_>) {
        if lookup.list.len() > self.all.len() * LONG_LIST {
            self.look_up_each(lookup);
        } else {
            self.look_up_along_list(lookup);
        }
    }

    /// Searches the posting list for each candidate.
    fn look_up_each(&mut self, lookup: &TermLookup<'_>) {
        let PostingList { mut slots, mut counts } = lookup.list;
        for candidate in &mut self.all[1..] {
            let place = slots.partition_point(|slot| *slot < candidate.slot);
            (slots, counts) = (&slots[place..], &counts[place..]);
            if slots.first() == Some(&candidate.slot) {
                lookup.add_to(candidate, candidate.slot, counts[0]);
            }
        }
    }

    /// Scans the posting list, which is not much longer than the list of candidates.
    fn look_up_along_list(&mut self, lookup: &TermLookup<'_>) {
        for (slot, posting) in lookup.list.iter() {
            let candidate = &mut self.all[self.places[slot as usize] as usize];
            lookup.add_to(candidate, slot, posting);
        }
    }
}

impl TermLookup<'_> {
    /// Adds the score of `posting`, of the skill at `slot`, to `candidate`.
    #[inline(always)]
    fn add_to(&self, candidate: &mut Candidate, slot: Slot, posting: Posting) {
        let value = self.table.weigh(posting, self.brevities[slot as usize]);
        candidate.score += term_score(value, self.weight, self.saturation);
        candidate.has |= self.bit;
    }
}

/// Returns the saturated score of a word that can add `weight` at most and has the posting weight `value`.
#[inline(always)]
pub(crate) fn term_score(value: f32, weight: f32, saturation: f32) -> f32 {
    // The minimum avoids a division by zero if both the value and the saturation are 0.
    weight * value / (saturation + value).max(f32::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::index::{Postings, Weights};
    use crate::words::Term;

    proptest! {
        #[test]
        fn a_word_counts_for_the_candidates_that_have_it(
            skills in vec((1u16.., any::<bool>(), 0.0..1.0, 0.1f32..2.0), 1..400),
            // Few candidates, so that the list is searched, or many, so that it is scanned.
            share in prop_oneof![Just(0.02), Just(0.5)],
        ) {
            let has = |slot: usize| skills[slot].1;
            let postings: Vec<(Term, Slot, Posting)> = (0..skills.len())
                .filter(|slot| has(*slot))
                .map(|slot| (Term(7), slot as Slot, Posting::from_bits(skills[slot].0)))
                .collect();
            let postings = Postings::default().rebuilt(&[], postings);
            let weights = Weights::default();
            let (table, saturation) = (WeightTable::new(&weights), weights.saturation);
            let scores = vec![0.5; skills.len()];
            let brevities: Vec<f32> = skills.iter().map(|skill| skill.3).collect();
            let slots: Vec<Slot> =
                (0..skills.len() as Slot).filter(|slot| skills[*slot as usize].2 < share).collect();
            let mut candidates = Candidates::new(&slots, &scores);
            let list = postings.list(Term(7));
            candidates.look_up(&TermLookup { list, bit: 4, weight: 1.5, saturation, table: &table, brevities: &brevities });
            prop_assert_eq!(candidates.all().len(), slots.len());
            for (candidate, slot) in candidates.all().iter().zip(&slots) {
                let (bits, has_it, _, brevity) = skills[*slot as usize];
                let score = term_score(table.weigh(Posting::from_bits(bits), brevity), 1.5, saturation);
                let expected = if has_it { (*slot, 0.5 + score, 4) } else { (*slot, 0.5, 0) };
                prop_assert_eq!((candidate.slot, candidate.score, candidate.has), expected);
            }
        }
    }
}
