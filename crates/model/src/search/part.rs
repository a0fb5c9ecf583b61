//! Skills that are packed together, or one that is not packed yet.

use std::sync::Arc;

use super::columns::{Columns, bytes_of};
use super::index::{Key, Slot};
use super::posting::Posting;
use super::record::{Record, Term};
use super::segment::{List, Segment};
use super::vector::Vector;

/// Skills that are packed together, or one that is not packed yet. It never changes, so indices share it.
#[derive(Debug, PartialEq)]
pub(super) struct Part {
    pub(super) columns: Columns,
    pub(super) postings: Postings,
}

/// Which of its skills have which terms.
#[derive(Debug, PartialEq)]
pub(super) enum Postings {
    /// Packed.
    Packed(Segment),
    /// The terms of the one skill that there is, sorted.
    Loose(Vec<(Term, Posting)>),
}

impl Part {
    /// Returns a skill that is not packed yet.
    pub(super) fn loose(key: Key, record: Record, vector: Option<&Vector>) -> Self {
        let Record { terms, name, pairs, length, described } = record;
        let columns = Columns::of(key, (length, described), &name, &pairs, vector);
        Self { columns, postings: Postings::Loose(terms) }
    }

    /// Returns which of its skills have `term`.
    pub(super) fn list(&self, term: Term) -> Option<List<'_>> {
        match &self.postings {
            Postings::Packed(segment) => segment.list(term),
            Postings::Loose(terms) => {
                let place = terms.binary_search_by_key(&term, |(other, _)| *other).ok()?;
                Some(List::one(terms[place].1))
            }
        }
    }

    fn bytes(&self) -> usize {
        let postings = match &self.postings {
            Postings::Packed(segment) => segment.bytes(),
            Postings::Loose(terms) => bytes_of(terms),
        };
        size_of::<Self>() + self.columns.bytes() + postings
    }
}

/// A part of an index: where its skills stand, and which of them are gone.
#[derive(Debug, Clone)]
pub(super) struct Tier {
    /// The slot of its first skill.
    pub(super) first: Slot,
    pub(super) part: Arc<Part>,
    /// The skills that are gone, by their places in the part, sorted.
    pub(super) dropped: Vec<u32>,
}

impl Tier {
    /// Returns how many skills it has, those that are gone included.
    pub(super) fn slots(&self) -> usize {
        self.part.columns.len()
    }

    /// Returns how many skills it has.
    pub(super) fn len(&self) -> usize {
        self.slots() - self.dropped.len()
    }

    /// Returns whether its skill is not packed yet.
    pub(super) fn is_loose(&self) -> bool {
        matches!(self.part.postings, Postings::Loose(_))
    }

    /// Returns whether the skill at `place` is gone.
    pub(super) fn is_dropped(&self, place: u32) -> bool {
        self.dropped.binary_search(&place).is_ok()
    }

    /// Returns the slots of its skills.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        let first = self.first as usize;
        first..first + self.slots()
    }

    /// Returns how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + bytes_of(&self.dropped) + self.part.bytes()
    }
}
