//! What a text means, as a direction: the sum of what its pieces of words mean, looked up in a table.
//!
//! How the table is made, and what it is made of, is told in `models/README.md`.

use fearless_simd::{Level, Simd, dispatch};

use super::pieces::Pieces;
use super::record::SkillText;
use super::vector::Vector;

const MAGIC: &[u8; 8] = b"REPEMB01";
/// The most pieces of a query that count, half of them at each end.
const MAX_QUERY_PIECES: usize = 512;
/// The most pieces of a name, a description and keywords that count.
const MAX_HEAD_PIECES: usize = 256;
/// The most pieces of a body that count.
const MAX_BODY_PIECES: usize = 512;
/// The most bytes of a text that are read for its pieces.
const MAX_BYTES: usize = 16 * 1024;

/// How long the direction of a word is that tells as much as most.
const USUAL_LENGTH: f32 = 2.7;
/// What neighbouring pieces are told apart by.
const ODD: u32 = 0x9E37_79B1;

/// A table of what pieces of words mean, alone and side by side.
pub struct Meanings<'a> {
    pieces: Pieces<'a>,
    /// How many rows there are for pieces side by side; those of different pairs may be one.
    pairs: usize,
    dimensions: usize,
    scales: &'a [u8],
    rows: &'a [u8],
}

impl<'a> Meanings<'a> {
    /// Returns the table in `bytes`; `None` where they are no table.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (numbers, rest) = rest.split_at_checked(16)?;
        let number = |index: usize| -> Option<usize> {
            let bytes = numbers.get(index * 4..index * 4 + 4)?.try_into().ok()?;
            Some(u32::from_le_bytes(bytes) as usize)
        };
        let (words, pairs, dimensions) = (number(0)?, number(1)?, number(2)?);
        let (vocabulary, rest) = rest.split_at_checked(number(3)?)?;
        let count = words.checked_add(pairs)?;
        let (scales, rows) = rest.split_at_checked(count.checked_mul(4)?)?;
        let pieces = Pieces::new(std::str::from_utf8(vocabulary).ok()?);
        let is_whole =
            pieces.len() == words && dimensions > 0 && rows.len() == count.checked_mul(dimensions)?;
        is_whole.then_some(Self { pieces, pairs, dimensions, scales, rows })
    }

    /// Returns of how many dimensions its directions are.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns what `text` means to somebody who asks for it; `None` where it says nothing that is known.
    pub fn of_query(&self, text: &str) -> Option<Vector> {
        let (head, tail) = crate::text::ends(text, MAX_BYTES);
        let mut pieces = Vec::new();
        for text in [head, tail] {
            self.pieces.each(text, &mut |number| {
                pieces.push(number);
                true
            });
        }
        if pieces.len() > MAX_QUERY_PIECES {
            pieces.drain(MAX_QUERY_PIECES / 2..pieces.len() - MAX_QUERY_PIECES / 2);
        }
        Vector::of(&self.sum_of(pieces))
    }

    /// Returns how much `word`, in lower case, tells of what is asked for, of what another word does: `please` little, `kubernetes` much.
    ///
    /// The longer the direction of a word, the more it turns the sum.
    pub fn telling(&self, word: &str) -> f32 {
        let Some(number) = self.pieces.whole(word) else { return 1.0 };
        let Some((row, worth)) = self.row(number as usize, 1.0) else { return 1.0 };
        let values = row.iter().map(|step| worth * f32::from(*step as i8));
        values.map(|value| value * value).sum::<f32>().sqrt() / USUAL_LENGTH
    }

    /// Returns what `skill` is about: what it says of itself and what it tells to do, in equal parts.
    pub fn of_skill(&self, skill: &SkillText<'_>) -> Option<Vector> {
        let mut head = vec![skill.name, skill.description];
        head.extend(skill.keywords);
        let mut sum = unit(self.sum(&head, MAX_HEAD_PIECES));
        let body = unit(self.sum(&[skill.body], MAX_BODY_PIECES));
        sum.iter_mut().zip(body).for_each(|(sum, body)| *sum += body);
        Vector::of(&sum)
    }

    /// Returns the sum of what the first `limit` pieces of `texts` mean.
    fn sum(&self, texts: &[&str], limit: usize) -> Vec<f32> {
        let mut numbers: Vec<u32> = Vec::new();
        for text in texts {
            let text = crate::text::start(text, MAX_BYTES);
            self.pieces.each(text, &mut |number| {
                numbers.push(number);
                numbers.len() < limit
            });
            if numbers.len() >= limit {
                break;
            }
        }
        self.sum_of(numbers)
    }

    /// Returns the sum of what pieces and their neighbours mean. One that comes often counts more, but not as many times more.
    fn sum_of(&self, mut numbers: Vec<u32>) -> Vec<f32> {
        let side_by_side: Vec<u32> =
            numbers.windows(2).filter_map(|pair| self.pair(pair[0], pair[1])).collect();
        numbers.extend(side_by_side);
        numbers.sort_unstable();
        let rows = numbers.chunk_by(|a, b| a == b);
        let rows = rows.filter_map(|same| self.row(same[0] as usize, (same.len() as f32).sqrt()));
        let rows: Vec<(&[u8], f32)> = rows.collect();
        let mut sum = vec![0.0f32; self.dimensions];
        dispatch!(Level::new(), simd => add_all(simd, &rows, &mut sum));
        sum
    }

    /// Returns the row of two neighbouring pieces.
    fn pair(&self, first: u32, second: u32) -> Option<u32> {
        let hash = first.wrapping_mul(ODD).wrapping_add(second).wrapping_mul(ODD) >> 7;
        let row = (hash as usize).checked_rem(self.pairs)?;
        u32::try_from(self.pieces.len() + row).ok()
    }

    /// Returns the steps of the row `number`, and what each is worth where it counts `times`.
    fn row(&self, number: usize, times: f32) -> Option<(&[u8], f32)> {
        let row = self.rows.get(number * self.dimensions..(number + 1) * self.dimensions)?;
        let scale = self.scales.get(number * 4..number * 4 + 4)?.try_into().ok()?;
        Some((row, times * f32::from_le_bytes(scale)))
    }
}

/// How many values are added up together, so that they need not be stored in between.
const LANES: usize = 64;

/// Adds the steps of all `rows`, each of which is worth so much, to `sum`, with whatever instructions the processor has. Each value is
/// rounded twice, and rows come in their order, so it is the same on every machine.
#[inline(always)]
fn add_all<S: Simd>(_: S, rows: &[(&[u8], f32)], sum: &mut [f32]) {
    // Some values of all rows before the next ones: the rows lie all over the table, and so many of them are fetched at once.
    for (block, values) in sum.chunks_mut(LANES).enumerate() {
        let start = block * LANES;
        match <&mut [f32; LANES]>::try_from(&mut *values) {
            Ok(values) => {
                let mut total = *values;
                for (row, worth) in rows {
                    if let Some(steps) = row.get(start..).and_then(<[u8]>::first_chunk::<LANES>) {
                        (0..LANES).for_each(|lane| total[lane] += worth * f32::from(steps[lane] as i8));
                    }
                }
                *values = total;
            }
            Err(_) => {
                for (row, worth) in rows {
                    let steps = row.get(start..).unwrap_or_default();
                    values
                        .iter_mut()
                        .zip(steps)
                        .for_each(|(sum, step)| *sum += worth * f32::from(*step as i8));
                }
            }
        }
    }
}

/// Returns `values` with the length 1, or as they are where they have none.
fn unit(mut values: Vec<f32>) -> Vec<f32> {
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        values.iter_mut().for_each(|value| *value /= length);
    }
    values
}
