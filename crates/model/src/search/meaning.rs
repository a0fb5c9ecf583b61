//! What a text means, as a direction: the sum of what its pieces of words mean, looked up in a table.
//!
//! How the table is made, and what it is made of, is told in `models/README.md`.

use super::pieces::Pieces;
use super::record::SkillText;
use super::vector::Vector;

const MAGIC: &[u8; 8] = b"REPEMB01";
/// The most pieces of a query that count.
const MAX_QUERY_PIECES: usize = 512;
/// The most pieces of a name, a description and keywords that count.
const MAX_HEAD_PIECES: usize = 256;
/// The most pieces of a body that count.
const MAX_BODY_PIECES: usize = 512;
/// The most bytes of a text that are read for its pieces.
const MAX_BYTES: usize = 16 * 1024;

/// A table of what pieces of words mean.
pub struct Meanings<'a> {
    pieces: Pieces<'a>,
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
        let (count, dimensions) = (number(0)?, number(2)?);
        let (vocabulary, rest) = rest.split_at_checked(number(3)?)?;
        let (scales, rows) = rest.split_at_checked(count.checked_mul(4)?)?;
        let pieces = Pieces::new(std::str::from_utf8(vocabulary).ok()?);
        let is_whole = number(1)? == 0
            && pieces.len() == count
            && dimensions > 0
            && rows.len() == count.checked_mul(dimensions)?;
        is_whole.then_some(Self { pieces, dimensions, scales, rows })
    }

    /// Returns of how many dimensions its directions are.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns what `text` means to somebody who asks for it; `None` where it says nothing that is known.
    pub fn of_query(&self, text: &str) -> Option<Vector> {
        Vector::of(&self.sum(&[text], MAX_QUERY_PIECES))
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

    /// Returns the sum of what the first `limit` pieces of `texts` mean. One that comes often counts more, but not as many times more.
    fn sum(&self, texts: &[&str], limit: usize) -> Vec<f32> {
        let mut numbers = Vec::new();
        for text in texts {
            let text = crate::text::start(text, MAX_BYTES);
            self.pieces.each(text, &mut |number| {
                let has_room = numbers.len() < limit;
                if has_room {
                    numbers.push(number);
                }
                has_room
            });
        }
        numbers.sort_unstable();
        let mut sum = vec![0.0f32; self.dimensions];
        for same in numbers.chunk_by(|a, b| a == b) {
            self.add(same[0] as usize, (same.len() as f32).sqrt(), &mut sum);
        }
        sum
    }

    fn add(&self, number: usize, times: f32, sum: &mut [f32]) {
        let row = self.rows.get(number * self.dimensions..(number + 1) * self.dimensions);
        let scale = self.scales.get(number * 4..number * 4 + 4).and_then(|bytes| bytes.try_into().ok());
        if let Some((row, scale)) = row.zip(scale.map(f32::from_le_bytes)) {
            let worth = times * scale;
            sum.iter_mut().zip(row).for_each(|(sum, step)| *sum += worth * f32::from(*step as i8));
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
