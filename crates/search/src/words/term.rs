//! Terms: normalized words, as hashes.

use hashbrown::HashMap;

use super::stem::{Stem, stem};
use super::vocabulary::{WordInfo, look_up};

/// A normalized word, as a hash: spellings and forms of one word are the same term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Term(pub(crate) u64);

impl Term {
    /// Returns the term of `word`, which is in lower case, and whether it is a stop word.
    pub(crate) fn of(word: &str) -> (Self, bool) {
        let WordInfo { spelling, is_common } = look_up(word);
        (Self::of_spelling(spelling), is_common)
    }

    fn of_spelling(spelling: &str) -> Self {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let Stem { start, end } = stem(spelling);
        let bytes = start.bytes().chain(end.bytes());
        let hash = bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        // The low bits of an FNV hash are weak, and hash tables use them.
        Self((hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Returns the pair of this term followed by `next`.
    pub(crate) fn pair(self, next: Self) -> TermPair {
        TermPair(((self.0.rotate_left(17) ^ next.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16)
    }
}

/// Two adjacent terms, as a 16-bit hash. One in a few hundred collides, which only adds a little to a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TermPair(pub(crate) u16);

/// A hash table by terms.
pub(crate) type TermMap<T> = HashMap<Term, T>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_spellings_of_a_word_are_the_same_term() {
        assert_eq!(Term::of("k8s"), Term::of("kubernetes"));
        assert_eq!(Term::of("queries"), Term::of("query"));
        assert_eq!(Term::of("slide"), Term::of("slides"));
        assert_ne!(Term::of("form"), Term::of("format"));
    }
}
