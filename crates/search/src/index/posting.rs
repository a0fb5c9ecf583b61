//! Postings: counts of one term per field of one skill, in sixteen bits, and their weights.

use repertoire_model::answer::Field;

use super::weights::Weights;

/// Counts of one term in each field of one skill.
///
/// Counts in short fields end at three, so that repeating a word in a description gains nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Posting(pub(crate) u16);

/// Returns the first bit of the count of `field`, and its number of bits.
const fn bits_of(field: Field) -> (u32, u32) {
    match field {
        Field::Prose => (0, 4),
        Field::Code => (4, 4),
        Field::Name => (8, 1),
        Field::Keywords => (9, 1),
        Field::Description => (10, 2),
        Field::Headings => (12, 2),
        Field::Files => (14, 1),
        Field::Excluded => (15, 1),
    }
}

/// Returns the highest count that the bits of `field` hold.
const fn limit_of(field: Field) -> u16 {
    (1 << bits_of(field).1) - 1
}

/// The least count in prose and code for each step: the higher the count, the less its exact value matters.
const STEPS: [u16; 16] = [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64];

impl Posting {
    /// Returns the posting of a word with these counts.
    pub(crate) fn of(counts: &Counts) -> Self {
        let bits = Field::ALL.iter().map(|field| {
            let count = counts.0[*field as usize];
            let step = match field {
                Field::Prose | Field::Code => STEPS.partition_point(|step| *step <= count) as u16 - 1,
                _ => count.min(limit_of(*field)),
            };
            step << bits_of(*field).0
        });
        Self(bits.sum())
    }

    /// Returns whether the word is in a field that says what the skill is for.
    pub(crate) fn is_claimed(self) -> bool {
        CLAIMS.iter().any(|field| self.count(*field) > 0)
    }

    /// Returns whether the description says that the skill is not for the word.
    pub(crate) fn is_excluded(self) -> bool {
        self.count(Field::Excluded) > 0 && !self.is_claimed()
    }

    /// Returns the approximate count in `field`.
    pub(crate) fn count(self, field: Field) -> u16 {
        let step = self.0 >> bits_of(field).0 & limit_of(field);
        match field {
            Field::Prose | Field::Code => STEPS[usize::from(step)],
            _ => step,
        }
    }
}

/// Exact counts of one term in each field, while a skill is read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts([u16; Field::ALL.len()]);

impl Counts {
    /// Counts the term once more in `field`.
    pub(crate) fn add(&mut self, field: Field) {
        let count = &mut self.0[field as usize];
        *count = count.saturating_add(1);
    }

    /// Returns whether the term occurs in one of `fields`.
    pub(crate) fn is_in(&self, fields: &[Field]) -> bool {
        fields.iter().any(|field| self.0[*field as usize] > 0)
    }
}

/// The fields that say what a skill is for.
const CLAIMS: [Field; 3] = [Field::Name, Field::Description, Field::Keywords];

/// The weights of all postings, as two tables: one for the fields outside the body, and one for those whose
/// weight depends on the length of the body.
#[derive(Debug, Clone)]
pub(crate) struct WeightTable {
    short: [f32; 256],
    body: [f32; 256],
}

impl WeightTable {
    pub(crate) fn new(weights: &Weights) -> Self {
        Self {
            short: std::array::from_fn(|half| half_weight(weights, (half as u16) << 8)),
            body: std::array::from_fn(|half| half_weight(weights, half as u16)),
        }
    }

    /// Returns the weight of `posting` in a skill with the length factor `brevity`.
    #[inline(always)]
    pub(crate) fn weigh(&self, posting: Posting, brevity: f32) -> f32 {
        let short = self.short[usize::from(posting.0 >> 8)];
        let body = self.body[usize::from(posting.0 & 0xff)] * brevity;
        // What the body says of an excluded word counts half: it mostly repeats what the skill is not for.
        if short < 0.0 { short + body / 2.0 } else { short + body }
    }
}

/// Returns the weight of a posting in which only one of the two bytes is set.
fn half_weight(weights: &Weights, bits: u16) -> f32 {
    let posting = Posting(bits);
    if posting.is_excluded() {
        return -weights.excluded.min(weights.saturation / 2.0);
    }
    Field::ALL.iter().map(|field| weights.of(*field) * f32::from(posting.count(*field))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_rounded_and_limited() {
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
