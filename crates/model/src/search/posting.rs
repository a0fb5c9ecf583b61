//! How often a word stands where in a skill, in sixteen bits.

use super::weights::Weights;

/// How often a word stands in each part of a skill.
///
/// The short parts are counted to three at most, so that a description gains nothing by saying a word ten times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Posting(u16);

/// A part of a skill that words are found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Field {
    /// The name, with its parts.
    Name,
    /// What the description says the skill is for.
    Description,
    /// Tags and trigger keywords.
    Keywords,
    /// The headings of the instructions.
    Headings,
    /// The instructions, as far as they are prose.
    Prose,
    /// The code in the instructions.
    Code,
    /// The names and the beginnings of the files beside it.
    Files,
    /// What the description says the skill is not for.
    Excluded,
}

impl Field {
    /// Every field.
    pub const ALL: [Self; 8] = [
        Self::Name,
        Self::Description,
        Self::Keywords,
        Self::Headings,
        Self::Prose,
        Self::Code,
        Self::Files,
        Self::Excluded,
    ];

    /// Returns the field's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Keywords => "keywords",
            Self::Headings => "headings",
            Self::Prose => "body",
            Self::Code => "code",
            Self::Files => "files",
            Self::Excluded => "excluded",
        }
    }

    /// Returns where the count of the field begins, and of how many bits it is.
    const fn place(self) -> (u32, u32) {
        match self {
            Self::Prose => (0, 4),
            Self::Code => (4, 4),
            Self::Name => (8, 1),
            Self::Keywords => (9, 1),
            Self::Description => (10, 2),
            Self::Headings => (12, 2),
            Self::Files => (14, 1),
            Self::Excluded => (15, 1),
        }
    }

    fn limit(self) -> u16 {
        (1 << self.place().1) - 1
    }
}

/// How often a word must stand in a long part to reach each step: the more often, the less it matters how often exactly.
const STEPS: [u16; 16] = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64];

impl Posting {
    /// Returns the posting with these bits.
    pub(super) fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns its bits.
    pub(super) fn bits(self) -> u16 {
        self.0
    }

    /// Returns the posting of a word that stands `counts` times in each field.
    pub(super) fn of(counts: &Counts) -> Self {
        let bits = Field::ALL.iter().map(|field| {
            let count = counts.0[*field as usize];
            let step = match field {
                Field::Prose | Field::Code => STEPS.partition_point(|step| *step <= count) as u16 - 1,
                _ => count.min(field.limit()),
            };
            step << field.place().0
        });
        Self(bits.sum())
    }

    /// Returns about how often the word stands in `field`.
    pub(super) fn count(self, field: Field) -> u16 {
        let step = self.0 >> field.place().0 & field.limit();
        match field {
            Field::Prose | Field::Code => STEPS[usize::from(step)],
            _ => step,
        }
    }
}

/// How often a word was met in each field so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts([u16; Field::ALL.len()]);

impl Counts {
    /// Counts the word once more in `field`.
    pub(super) fn add(&mut self, field: Field) {
        let count = &mut self.0[field as usize];
        *count = count.saturating_add(1);
    }

    /// Returns whether the word was met in one of `fields`.
    pub(super) fn is_in(&self, fields: &[Field]) -> bool {
        fields.iter().any(|field| self.0[*field as usize] > 0)
    }
}

/// Where a skill says what it is for.
const CLAIMS: [Field; 3] = [Field::Name, Field::Description, Field::Keywords];

/// What each posting weighs, looked up by its two halves: what does not depend on the length of the body, and what does.
#[derive(Debug, Clone)]
pub(super) struct WeightTable {
    short: [f32; 256],
    body: [f32; 256],
}

impl WeightTable {
    /// Returns the table for `weights`.
    pub(super) fn new(weights: &Weights) -> Self {
        let sum = |bits: u16| -> f32 {
            let posting = Posting(bits);
            let sum =
                Field::ALL.iter().map(|field| weights.of(*field) * f32::from(posting.count(*field))).sum();
            let is_said = CLAIMS.iter().any(|field| posting.count(*field) > 0);
            let is_excluded = posting.count(Field::Excluded) > 0 && !is_said;
            if is_excluded { -weights.excluded.min(weights.saturation / 2.0) } else { sum }
        };
        Self {
            short: std::array::from_fn(|half| sum((half as u16) << 8)),
            body: std::array::from_fn(|half| sum(half as u16)),
        }
    }

    /// Returns what `posting` weighs in a skill whose body is shorter than others by `brevity`.
    pub(super) fn weigh(&self, posting: Posting, brevity: f32) -> f32 {
        let short = self.short[usize::from(posting.0 >> 8)];
        let body = self.body[usize::from(posting.0 & 0xff)] * brevity;
        // Whatever the body says of it, its author says that it is for something else.
        if short < 0.0 { short } else { short + body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_as_exactly_as_they_matter() {
        let check = |field: Field, times: usize, expected: u16| {
            let mut counts = Counts::default();
            (0..times).for_each(|_| counts.add(field));
            let posting = Posting::of(&counts);
            assert_eq!(posting.count(field), expected, "{field:?} {times}");
            let others = Field::ALL.iter().filter(|other| **other != field);
            assert!(others.into_iter().all(|other| posting.count(*other) == 0));
        };
        check(Field::Name, 3, 1);
        check(Field::Description, 2, 2);
        check(Field::Description, 20, 3);
        check(Field::Prose, 7, 6);
        check(Field::Prose, 100_000, 64);
        check(Field::Code, 1, 1);
        check(Field::Excluded, 1, 1);
    }
}
