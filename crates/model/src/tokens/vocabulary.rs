//! The tokens of `o200k_base`, and byte-pair encoding with them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

/// The length of the longest token, in bytes.
pub(crate) const MAX_TOKEN_BYTES: usize = 128;

/// The tokens in the order of their ranks, each behind a byte with its length. `NOTICE` names their origin.
static TOKENS: &[u8] = include_bytes!("o200k_base.tokens");

/// The binary logarithm of the number of slots, of which the tokens fill four of ten.
const SLOT_BITS: u32 = 19;

/// A slot of the hash table without a token.
const EMPTY: u32 = u32::MAX;

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::new);

/// Finds tokens by their bytes, in a hash table with open addressing over [`TOKENS`].
pub(crate) struct Vocabulary {
    /// Positions in [`TOKENS`], which are in the order of the ranks and stand for them.
    slots: Vec<u32>,
}

impl Vocabulary {
    /// Returns the vocabulary, whose table is built on first use and takes 2 MB.
    pub(crate) fn get() -> &'static Self {
        &VOCABULARY
    }

    fn new() -> Self {
        let mut slots = vec![EMPTY; 1 << SLOT_BITS];
        let mut position = 0_u32;
        while let Some(token) = token_at(position) {
            let mut slot = first_slot(token);
            while slots[slot] != EMPTY {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = position;
            // Tokens are at most 128 bytes long.
            position += 1 + token.len() as u32;
        }
        Self { slots }
    }

    /// Returns the rank of the token with these bytes, if there is one. Lower ranks are merged first.
    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let mut slot = first_slot(bytes);
        while self.slots[slot] != EMPTY {
            let position = self.slots[slot];
            if token_at(position) == Some(bytes) {
                return Some(position);
            }
            slot = (slot + 1) % self.slots.len();
        }
        None
    }

    /// Returns the number of tokens in one piece of a text.
    pub(crate) fn count(&self, piece: &str) -> usize {
        let bytes = piece.as_bytes();
        if bytes.is_empty() || self.rank(bytes).is_some() {
            return usize::from(!bytes.is_empty());
        }
        self.merge(bytes)
    }

    /// Merges neighbouring parts of `piece`, from its bytes up, always the pair with the lowest rank, the
    /// leftmost of equals; returns how many are left. Takes O(n log n), since pieces may have any length.
    fn merge(&self, piece: &[u8]) -> usize {
        let mut parts = Parts::new(piece.len());
        let mut pairs = BinaryHeap::new();
        let pair =
            |start: usize, end: usize| self.rank(&piece[start..end]).map(|rank| Reverse((rank, start, end)));
        pairs.extend((2..=piece.len()).filter_map(|end| pair(end - 2, end)));
        while let Some(Reverse((_, start, end))) = pairs.pop() {
            if !parts.is_pair(start, end) {
                continue;
            }
            parts.merge(start);
            pairs.extend(parts.start_before(start).and_then(|before| pair(before, end)));
            pairs.extend(parts.end_at(end).and_then(|after| pair(start, after)));
        }
        parts.count
    }
}

/// The parts of a piece: neighbouring ranges of its bytes.
struct Parts {
    /// The end of the part that starts at each byte; 0 where none does.
    ends: Vec<usize>,
    /// The start of the part before the one that starts at each byte.
    starts_before: Vec<usize>,
    count: usize,
}

impl Parts {
    fn new(length: usize) -> Self {
        let starts_before = (0..length).map(|start| start.saturating_sub(1)).collect();
        Self { ends: (1..=length).collect(), starts_before, count: length }
    }

    /// Returns the end of the part that starts at `start`, if one does.
    fn end_at(&self, start: usize) -> Option<usize> {
        self.ends.get(start).copied().filter(|end| *end > 0)
    }

    fn start_before(&self, start: usize) -> Option<usize> {
        (start > 0).then(|| self.starts_before[start])
    }

    /// Returns whether two parts fill the range from `start` to `end`.
    fn is_pair(&self, start: usize, end: usize) -> bool {
        self.end_at(start).and_then(|middle| self.end_at(middle)) == Some(end)
    }

    fn merge(&mut self, start: usize) {
        let middle = self.ends[start];
        let end = std::mem::take(&mut self.ends[middle]);
        self.ends[start] = end;
        if let Some(before) = self.starts_before.get_mut(end) {
            *before = start;
        }
        self.count -= 1;
    }
}

fn token_at(position: u32) -> Option<&'static [u8]> {
    let (length, rest) = TOKENS.get(position as usize..)?.split_first()?;
    rest.get(..usize::from(*length))
}

/// Returns the slot at which the search for a token starts.
fn first_slot(token: &[u8]) -> usize {
    let hash = token.chunks(8).fold(0_u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    });
    (hash >> (u64::BITS - SLOT_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::Digest;

    /// The SHA-256 of `o200k_base.tiktoken`, published by OpenAI: a line per token, in Base64, with its rank.
    const PUBLISHED: &str = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

    #[test]
    fn tokens_are_those_that_openai_publishes() {
        let (mut position, mut longest) = (0, 0);
        let mut published = String::new();
        for rank in 0.. {
            let Some(token) = token_at(position) else { break };
            assert_eq!(Vocabulary::get().rank(token), Some(position));
            writeln!(published, "{} {rank}", STANDARD.encode(token)).unwrap();
            longest = longest.max(token.len());
            position += 1 + u32::try_from(token.len()).unwrap();
        }
        assert_eq!(Digest::of(published.as_bytes()).to_hex(), PUBLISHED);
        assert_eq!(longest, MAX_TOKEN_BYTES);
    }
}
