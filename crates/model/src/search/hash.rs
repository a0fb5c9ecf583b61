//! A quick hash of words, for tables that are made once of words that are known.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by words. Nobody else decides what is in it, so nobody can make it slow.
pub(super) type WordMap<'a, T> = HashMap<&'a str, T, BuildHasherDefault<WordHasher>>;

/// Hashes eight bytes at once.
#[derive(Default)]
pub(super) struct WordHasher(u64);

impl Hasher for WordHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        let rest = rest.iter().rev().fold(0, |rest, byte| rest << 8 | u64::from(*byte));
        self.write_u64(rest | (bytes.len() as u64) << 56);
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        // Both halves of the product: every bit of the word has a say in every bit of the hash.
        let product = u128::from(self.0 ^ word ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    /// What ends a text; its length is in the hash already.
    #[inline]
    fn write_u8(&mut self, _: u8) {}

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::*;

    #[test]
    fn words_are_told_apart() {
        let hash = |word: &str| BuildHasherDefault::<WordHasher>::default().hash_one(word);
        let mut words: Vec<String> = (0..20_000).map(|number| format!("word{number}")).collect();
        words.extend((0..40).map(|length| "\0".repeat(length)));
        words.extend(["a", "aa", "abcdefgh", "abcdefghi", "##a"].map(str::to_owned));
        let all: HashSet<u64> = words.iter().map(|word| hash(word)).collect();
        assert_eq!(all.len(), words.len());
        // Tables go by the low bits, and by the high ones among those of one place.
        for bits in [0, 52] {
            let places: HashSet<u64> = all.iter().map(|hash| hash >> bits & 0xfff).collect();
            assert!(places.len() > 3900, "{bits} {}", places.len());
        }
    }
}
