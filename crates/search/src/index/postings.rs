//! The inverted index: a posting list for each term.

use super::posting::Posting;
use super::slots::Slot;
use crate::words::Term;

/// Maps each term to its posting list, as sorted arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Postings {
    /// The terms, sorted.
    pub(super) terms: Vec<Term>,
    /// The start of the list of each term, and the end of the last list.
    pub(super) starts: Vec<u32>,
    /// The slots of all lists, each sorted.
    pub(super) slots: Vec<Slot>,
    /// The counts for the same slots.
    pub(super) counts: Vec<Posting>,
}

/// The posting list of one term: the skills that have it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PostingList<'a> {
    pub(crate) slots: &'a [Slot],
    pub(crate) counts: &'a [Posting],
}

impl Default for Postings {
    fn default() -> Self {
        Self { terms: Vec::new(), starts: vec![0], slots: Vec::new(), counts: Vec::new() }
    }
}

impl<'a> PostingList<'a> {
    /// Returns the posting of the skill at `slot`, if it has the term.
    pub(crate) fn get(self, slot: Slot) -> Option<Posting> {
        self.slots.binary_search(&slot).ok().map(|place| self.counts[place])
    }

    /// Returns the slots with their postings, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = (Slot, Posting)> + 'a {
        self.slots.iter().copied().zip(self.counts.iter().copied())
    }
}

impl Postings {
    /// Returns the number of all postings.
    pub(crate) fn count(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn list(&self, term: Term) -> PostingList<'_> {
        self.terms.binary_search(&term).map_or(PostingList::default(), |place| self.list_at(place))
    }

    fn list_at(&self, place: usize) -> PostingList<'_> {
        let range = self.starts[place] as usize..self.starts[place + 1] as usize;
        PostingList { slots: &self.slots[range.clone()], counts: &self.counts[range] }
    }

    /// Returns these postings with each slot replaced by its entry in `moves`, and `added`. Slots without a
    /// new slot are left out.
    pub(crate) fn rebuilt(&self, moves: &[Option<Slot>], mut added: Vec<(Term, Slot, Posting)>) -> Self {
        added.sort_unstable_by_key(|(term, slot, _)| (*term, *slot));
        let in_order = moves.iter().flatten().is_sorted();
        let mut builder = PostingsBuilder::with_capacity(self.slots.len() + added.len());
        let mut added = added.as_slice();
        for (place, term) in self.terms.iter().enumerate() {
            let before = added.iter().take_while(|(other, ..)| other < term).count();
            builder.push_all(&added[..before]);
            added = &added[before..];
            let moved = self.list_at(place).iter();
            builder.list.extend(moved.filter_map(|(slot, count)| {
                let slot = moves.get(slot as usize).copied().flatten()?;
                Some((slot, count))
            }));
            let same = added.iter().take_while(|(other, ..)| other == term).count();
            builder.list.extend(added[..same].iter().map(|(_, slot, count)| (*slot, *count)));
            added = &added[same..];
            if same > 0 || !in_order {
                builder.list.sort_by_key(|(slot, _)| *slot);
            }
            builder.finish(*term);
        }
        builder.push_all(added);
        builder.postings
    }

    /// Returns whether every list is sorted, within bounds, and has only slots below `skills`.
    pub(crate) fn is_valid(&self, skills: usize) -> bool {
        let Self { terms, starts, slots, counts } = self;
        starts.len() == terms.len() + 1
            && starts.first() == Some(&0)
            && starts.last().is_some_and(|end| *end as usize == slots.len())
            && starts.is_sorted()
            && slots.len() == counts.len()
            && terms.is_sorted_by(|a, b| a < b)
            && (0..terms.len()).all(|place| self.list_at(place).slots.is_sorted_by(|a, b| a < b))
            && slots.iter().all(|slot| (*slot as usize) < skills)
    }
}

/// Builds postings by appending one posting list after another.
struct PostingsBuilder {
    postings: Postings,
    /// The list of the current term.
    list: Vec<(Slot, Posting)>,
}

impl PostingsBuilder {
    fn with_capacity(count: usize) -> Self {
        let mut postings = Postings::default();
        postings.slots.reserve_exact(count);
        postings.counts.reserve_exact(count);
        Self { postings, list: Vec::new() }
    }

    /// Appends the lists of `added`, which are sorted by term and slot.
    fn push_all(&mut self, added: &[(Term, Slot, Posting)]) {
        for same in added.chunk_by(|a, b| a.0 == b.0) {
            self.list.extend(same.iter().map(|(_, slot, count)| (*slot, *count)));
            self.finish(same[0].0);
        }
    }

    /// Finishes the list of `term`. A term with an empty list is left out.
    fn finish(&mut self, term: Term) {
        if self.list.is_empty() {
            return;
        }
        let Postings { terms, starts, slots, counts } = &mut self.postings;
        terms.push(term);
        slots.extend(self.list.iter().map(|(slot, _)| *slot));
        counts.extend(self.list.iter().map(|(_, count)| *count));
        starts.push(slots.len() as u32);
        self.list.clear();
    }
}
