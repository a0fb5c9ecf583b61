//! Directions in two bits a dimension, to tell the few that may be near from the many that are not.
//!
//! What is far in a sketch of both is far: of 25,229 real skills, the 512 that look nearest hold 99.97 % of the 64 that are. All
//! numbers are whole ones but for one division of each, so every machine finds the same.

use fearless_simd::{Level, Simd, dispatch};

/// How many dimensions a word has a bit for.
const WORD: usize = 64;
/// How many bits a dimension of a query has.
const QUERY_BITS: usize = 4;
/// How many directions are looked at together.
const ROWS: usize = 64;

/// The sketches of directions of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Sketches {
    /// For every 64 dimensions the low bits and the high bits of the levels, each by directions.
    pub(super) planes: Vec<Vec<u64>>,
    /// What is known of each whole direction, as words of [`Trailer`].
    pub(super) trailers: Vec<u64>,
}

/// What is known of a whole direction.
struct Trailer {
    /// The sum of its levels.
    sum: u32,
    /// One by its length.
    inverse: f32,
}

impl Trailer {
    fn to_word(&self) -> u64 {
        u64::from(self.sum) << 32 | u64::from(self.inverse.to_bits())
    }

    fn of_word(word: u64) -> Self {
        Self { sum: (word >> 32) as u32, inverse: f32::from_bits(word as u32) }
    }
}

/// Returns how many planes the sketches of directions of so many dimensions have.
pub(super) fn planes_of(dimensions: usize) -> usize {
    dimensions.div_ceil(WORD) * 2
}

impl Sketches {
    /// Adds the direction `steps`; all are of one kind.
    pub(super) fn push(&mut self, steps: &[i8]) {
        self.planes.resize_with(planes_of(steps.len()), Vec::new);
        let squares: i64 = steps.iter().map(|step| i64::from(*step) * i64::from(*step)).sum();
        let (mut sum, mut length) = (0, 0);
        for (block, planes) in steps.chunks(WORD).zip(self.planes.chunks_exact_mut(2)) {
            let (mut low, mut high) = (0, 0);
            for (place, step) in block.iter().enumerate() {
                // A level is one of -3, -1, 1 and 3, as 0 to 3; what is beyond the usual is far out.
                let is_far = i64::from(*step) * i64::from(*step) * steps.len() as i64 > squares;
                let level = match (*step > 0, is_far) {
                    (false, true) => 0,
                    (false, false) => 1,
                    (true, false) => 2,
                    (true, true) => 3,
                };
                sum += level;
                length += if is_far { 9 } else { 1 };
                low |= u64::from(level & 1) << place;
                high |= u64::from(level >> 1) << place;
            }
            planes.iter_mut().zip([low, high]).for_each(|(plane, bits)| plane.push(bits));
        }
        let inverse = (1.0 / f64::from(length.max(1)).sqrt()) as f32;
        self.trailers.push(Trailer { sum, inverse }.to_word());
    }

    /// Adds a place without a direction, which looks near to nothing.
    pub(super) fn push_none(&mut self, dimensions: usize) {
        self.planes.resize_with(planes_of(dimensions), Vec::new);
        self.columns_mut().for_each(|column| column.push(0));
    }

    /// Returns the sketches at `indices`.
    pub(super) fn picked(&self, indices: &[usize]) -> Self {
        let picked = |column: &Vec<u64>| -> Vec<u64> {
            indices.iter().map(|index| column.get(*index).copied().unwrap_or_default()).collect()
        };
        Self { planes: self.planes.iter().map(picked).collect(), trailers: picked(&self.trailers) }
    }

    /// Returns all that it has, column by column.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Vec<u64>> {
        self.planes.iter().chain([&self.trailers])
    }

    /// Returns all that it has, column by column.
    pub(super) fn columns_mut(&mut self) -> impl Iterator<Item = &mut Vec<u64>> {
        self.planes.iter_mut().chain([&mut self.trailers])
    }

    /// Calls `take` with how near each direction looks to `query`, in order. Only which is nearer than which means something.
    pub(super) fn each(&self, query: &Sketch, take: impl FnMut(f32)) {
        dispatch!(Level::new(), simd => each(simd, self, query, take));
    }
}

/// The sketch of a direction that is looked for, finer than the others.
pub(super) struct Sketch {
    /// For every 64 dimensions the bits of its levels, low ones first.
    words: Vec<[u64; QUERY_BITS]>,
    /// The sum of its levels.
    sum: u32,
    dimensions: usize,
}

impl Sketch {
    /// Returns the sketch of `steps`.
    pub(super) fn of(steps: &[i8]) -> Self {
        let (mut words, mut sum) = (Vec::new(), 0);
        for block in steps.chunks(WORD) {
            let mut bits = [0; QUERY_BITS];
            for (place, step) in block.iter().enumerate() {
                // A level is one of -7.5, -6.5, up to 7.5, as 0 to 15.
                let level = ((i32::from(*step).max(-127) + 127) * 15 + 127) as u32 / 254;
                sum += level;
                for (bit, bits) in bits.iter_mut().enumerate() {
                    *bits |= u64::from(level >> bit & 1) << place;
                }
            }
            words.push(bits);
        }
        Self { words, sum, dimensions: steps.len() }
    }
}

/// Does what [`Sketches::each`] does, with whatever instructions the processor has.
#[inline(always)]
fn each<S: Simd>(_: S, sketches: &Sketches, query: &Sketch, mut take: impl FnMut(f32)) {
    // With levels a and b, the product of two directions is the sum of (2a - 3)(b - 7.5); twice that is a whole number.
    let fixed = 45 * query.dimensions as i64 - 6 * i64::from(query.sum);
    for (block, trailers) in sketches.trailers.chunks(ROWS).enumerate() {
        let mut products = [0u64; ROWS];
        for (planes, asked) in sketches.planes.chunks_exact(2).zip(&query.words) {
            for (high, plane) in planes.iter().enumerate() {
                let rows = plane.get(block * ROWS..).unwrap_or_default();
                match rows.first_chunk::<ROWS>() {
                    Some(rows) => add_products(&mut products, rows, asked, high),
                    None => add_products(&mut products, rows, asked, high),
                }
            }
        }
        for (product, trailer) in products.into_iter().zip(trailers) {
            let Trailer { sum, inverse } = Trailer::of_word(*trailer);
            take((4 * product as i64 - 30 * i64::from(sum) + fixed) as f32 * inverse);
        }
    }
}

/// Adds what the bits of each of `rows`, which count 1 or 2 if they are `high` ones, make with those that are `asked` for.
#[inline(always)]
fn add_products(products: &mut [u64; ROWS], rows: &[u64], asked: &[u64; QUERY_BITS], high: usize) {
    for (product, row) in products.iter_mut().zip(rows) {
        let mut sum = 0;
        for (bit, asked) in asked.iter().enumerate() {
            sum += u64::from((row & asked).count_ones()) << bit;
        }
        *product += sum << high;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_sketch_is_the_product_of_levels(
            pair in prop::collection::vec((-127i8..=127, -127i8..=127), 1..700),
        ) {
            let (steps, asked): (Vec<i8>, Vec<i8>) = pair.into_iter().unzip();
            let mut sketches = Sketches::default();
            sketches.push(&steps);
            sketches.push_none(steps.len());
            sketches.push(&steps);
            let squares: i64 = steps.iter().map(|step| i64::from(*step).pow(2)).sum();
            let level = |step: i8| {
                let far = i64::from(step).pow(2) * steps.len() as i64 > squares;
                f64::from(if far { 3 } else { 1 } * if step > 0 { 1 } else { -1 })
            };
            let asked_level = |step: i8| ((f64::from(step) + 127.0) * 15.0 / 254.0 + 1e-9).round() - 7.5;
            let length = steps.iter().map(|step| level(*step).powi(2)).sum::<f64>().sqrt();
            let product: f64 = steps.iter().zip(&asked).map(|(a, b)| level(*a) * asked_level(*b)).sum();
            let mut found = Vec::new();
            sketches.each(&Sketch::of(&asked), |look| found.push(look));
            prop_assert_eq!(found.len(), 3);
            prop_assert!((f64::from(found[0]) - 2.0 * product / length).abs() < 0.01);
            prop_assert_eq!(found[1], 0.0);
            prop_assert_eq!(found[2], found[0]);
            prop_assert_eq!(sketches.picked(&[2]), sketches.picked(&[0]));
        }
    }
}
