//! The embedding table: the embedding of a text is the sum of the rows of its word pieces.
//!
//! `models/README.md` describes its format and how it is created.

use repertoire_model::text::{ends, start};

use super::pieces::Pieces;
use super::vector::Vector;
use crate::skill_text::SkillText;

const MAGIC: &[u8; 8] = b"REPEMB02";
/// The number of 3-bit codes that are packed into [`GROUP_BYTES`].
const GROUP: usize = 8;
const GROUP_BYTES: usize = 3;
/// The most pieces of a query that count, half of them at each end.
const MAX_QUERY_PIECES: usize = 512;
/// The most pieces of a name, a description and keywords that count.
const MAX_HEAD_PIECES: usize = 256;
/// The most pieces of a body that count.
const MAX_BODY_PIECES: usize = 512;
/// The most bytes of a text that are read for its pieces.
const MAX_BYTES: usize = 16 * 1024;

/// The length of the row of an average word.
const USUAL_LENGTH: f32 = 2.7;
/// The multiplier of the hash of two adjacent pieces.
const ODD: u32 = 0x9E37_79B1;

/// An embedding table with a row for each word piece, and hashed rows for pairs of adjacent pieces.
pub struct EmbeddingTable<'a> {
    pieces: Pieces<'a>,
    /// The number of rows for pairs; several pairs may share one.
    pairs: usize,
    dimensions: usize,
    /// The scale of each row, as `f32`.
    scales: &'a [u8],
    /// The rows as 3-bit codes, eight in three bytes.
    rows: &'a [u8],
}

impl<'a> EmbeddingTable<'a> {
    /// Parses the table in `bytes`; returns `None` if they are invalid.
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
        let is_valid = pieces.len() == words
            && dimensions > 0
            && dimensions % GROUP == 0
            && rows.len() == count.checked_mul(dimensions / GROUP)?.checked_mul(GROUP_BYTES)?;
        is_valid.then_some(Self { pieces, pairs, dimensions, scales, rows })
    }

    /// Returns the embedding of the query `text`; `None` if it has no known word.
    pub fn embed_query(&self, text: &str) -> Option<Vector> {
        let (head, tail) = ends(text, MAX_BYTES);
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

    /// Returns the importance of lower-case `word` relative to an average: `please` low, `kubernetes` high.
    ///
    /// It is the length of the word's row: the longer the row, the more it changes the direction of a sum.
    pub fn importance(&self, word: &str) -> Option<f32> {
        let number = self.pieces.whole(word)?;
        let (row, step_value) = self.row(number as usize, 1.0)?;
        let steps = row.as_chunks::<GROUP_BYTES>().0.iter().flat_map(|group| steps(*group)).flatten();
        let squares: f32 = steps.map(|step| step * step).sum();
        Some(step_value.abs() * squares.sqrt() / USUAL_LENGTH)
    }

    /// Returns the embedding of `skill`: its head (name, description, keywords) and its body in equal parts.
    pub fn embed_skill(&self, skill: &SkillText<'_>) -> Option<Vector> {
        let mut head = vec![skill.name, skill.description];
        head.extend(skill.keywords);
        let mut sum = unit(self.sum(&head, MAX_HEAD_PIECES));
        let body = unit(self.sum(&[skill.body], MAX_BODY_PIECES));
        sum.iter_mut().zip(body).for_each(|(sum, body)| *sum += body);
        Vector::of(&sum)
    }

    /// Returns the sum of the rows of the first `limit` pieces of `texts`.
    fn sum(&self, texts: &[&str], limit: usize) -> Vec<f32> {
        let mut numbers: Vec<u32> = Vec::new();
        for text in texts {
            let text = start(text, MAX_BYTES);
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

    /// Returns the sum of the rows of pieces and their pairs. A piece that occurs n times counts sqrt(n).
    fn sum_of(&self, mut numbers: Vec<u32>) -> Vec<f32> {
        let adjacent: Vec<u32> = numbers.windows(2).filter_map(|pair| self.pair(pair[0], pair[1])).collect();
        numbers.extend(adjacent);
        numbers.sort_unstable();
        let rows = numbers.chunk_by(|a, b| a == b);
        let rows = rows.filter_map(|same| self.row(same[0] as usize, (same.len() as f32).sqrt()));
        let rows: Vec<(&[u8], f32)> = rows.collect();
        let mut sum = vec![0.0f32; self.dimensions];
        add_all(&rows, &mut sum);
        sum
    }

    /// Returns the number of the row of two adjacent pieces.
    fn pair(&self, first: u32, second: u32) -> Option<u32> {
        let hash = first.wrapping_mul(ODD).wrapping_add(second).wrapping_mul(ODD) >> 7;
        let row = (hash as usize).checked_rem(self.pairs)?;
        u32::try_from(self.pieces.len() + row).ok()
    }

    /// Returns the packed codes of the row `number`, and the value of one step, multiplied by `times`.
    fn row(&self, number: usize, times: f32) -> Option<(&[u8], f32)> {
        let length = self.dimensions / GROUP * GROUP_BYTES;
        let row = self.rows.get(number * length..(number + 1) * length)?;
        let scale = self.scales.get(number * 4..number * 4 + 4)?.try_into().ok()?;
        Some((row, times * f32::from_le_bytes(scale)))
    }
}

/// The number of codes in half a group, which are unpacked together.
const HALF: usize = GROUP / 2;

/// The steps of each half of a group, by its bits: the codes 0 to 7 mean -7, -5, … 7.
static STEPS: [[f32; HALF]; 1 << (3 * HALF)] = {
    let mut steps = [[0.0; HALF]; 1 << (3 * HALF)];
    let mut at = 0;
    while at < steps.len() * HALF {
        let (bits, place) = (at / HALF, at % HALF);
        steps[bits][place] = (2 * (bits >> (3 * place) & 7) as i32 - 7) as f32;
        at += 1;
    }
    steps
};

/// Unpacks the steps of a group, in two halves.
#[inline(always)]
fn steps([low, middle, high]: [u8; GROUP_BYTES]) -> [&'static [f32; HALF]; 2] {
    let codes = u32::from_le_bytes([low, middle, high, 0]) as usize;
    [&STEPS[codes % STEPS.len()], &STEPS[codes / STEPS.len() % STEPS.len()]]
}

/// The number of groups that are summed together, so that their sums stay in the cache.
const BLOCK: usize = 8;

/// Adds all `rows`, each multiplied by its step value, to `sum`. Rows are added in order and no operations
/// are fused, so the result is the same on every machine.
fn add_all(rows: &[(&[u8], f32)], sum: &mut [f32]) {
    for (block, values) in sum.chunks_mut(BLOCK * GROUP).enumerate() {
        let first = block * BLOCK * GROUP_BYTES;
        for (row, step_value) in rows {
            let groups = row.get(first..).unwrap_or_default().as_chunks::<GROUP_BYTES>().0;
            for (values, group) in values.as_chunks_mut::<GROUP>().0.iter_mut().zip(groups) {
                for (values, steps) in values.as_chunks_mut::<HALF>().0.iter_mut().zip(steps(*group)) {
                    (0..HALF).for_each(|place| values[place] += step_value * steps[place]);
                }
            }
        }
    }
}

/// Returns `values` scaled to the length 1; zeros stay zeros.
fn unit(mut values: Vec<f32>) -> Vec<f32> {
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        values.iter_mut().for_each(|value| *value /= length);
    }
    values
}
