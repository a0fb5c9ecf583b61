//! Counting tokens: exactly for two published vocabularies, roughly by characters, and a cheap estimate.
//!
//! No vendor publishes the tokenizers of all its models, so every number is an estimate for some model. What is
//! reported always names the tokenizer it was counted with.

use bpe_openai::{cl100k_base, o200k_base};

/// The length of the longest token of either vocabulary, in bytes.
const MAX_TOKEN_BYTES: usize = 128;

/// A way of counting tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// The vocabulary of GPT-4o and later; the default.
    ///
    /// Its tables are built on the first count, which takes about 70 ms and 50 MB once per process.
    #[default]
    O200kBase,
    /// The vocabulary of GPT-4 and of `text-embedding-3`, built on the first count as well.
    Cl100kBase,
    /// A quarter of the number of characters, rounded up: needs no tables.
    ///
    /// Over a large corpus of public skills a `cl100k_base` token has 3.95 characters in Latin script, so the mean is
    /// right within two percent there, and 1.8 characters in Chinese, Japanese and Korean, where this count is less
    /// than half of the true one.
    Chars4,
}

impl Tokenizer {
    /// Every tokenizer.
    pub const ALL: [Self; 3] = [Self::O200kBase, Self::Cl100kBase, Self::Chars4];

    /// Returns the name that goes with every reported number.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
            Self::Chars4 => "chars4",
        }
    }

    /// Returns the tokenizer that goes by `word`.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tokenizer| tokenizer.name() == word)
    }

    /// Returns the number of tokens in `text`.
    pub fn count(self, text: &str) -> usize {
        match self.vocabulary() {
            Some(vocabulary) => vocabulary.count(text),
            None => text.chars().count().div_ceil(4),
        }
    }

    /// Returns the number of tokens in `text` if it is at most `limit`, and stops counting soon after it is not.
    pub fn count_up_to(self, text: &str, limit: usize) -> Option<usize> {
        let Some(vocabulary) = self.vocabulary() else {
            return Some(self.count(text)).filter(|count| *count <= limit);
        };
        if text.len() / MAX_TOKEN_BYTES > limit {
            return None;
        }
        let mut count = 0;
        for piece in vocabulary.split(text) {
            count += vocabulary.bpe.count(piece.as_bytes());
            if count > limit {
                return None;
            }
        }
        Some(count)
    }

    /// Returns the tables, which the library builds on their first use and keeps.
    fn vocabulary(self) -> Option<&'static bpe_openai::Tokenizer> {
        match self {
            Self::O200kBase => Some(o200k_base()),
            Self::Cl100kBase => Some(cl100k_base()),
            Self::Chars4 => None,
        }
    }
}

/// Returns whether `text` has no more than `limit` tokens, without the tables and with room to spare.
///
/// No token is shorter than a byte; beyond that the [`estimate`] must leave a third of the limit free.
pub(crate) fn is_clearly_within(text: &str, limit: usize) -> bool {
    text.len() <= limit || estimate(text) * 3 / 2 < limit
}

/// Returns about how many tokens `text` has, more likely too many than too few.
///
/// Words have a token for every five letters, and letters in runs that are no words one for two; digits go in threes;
/// a single blank belongs to the word behind it, other white space is a token for each run of one kind; all other bytes are tokens.
fn estimate(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut tokens = 0;
    let mut start = 0;
    while let Some(first) = bytes.get(start) {
        let class = Class::of(*first);
        let length = bytes[start..].iter().take_while(|byte| Class::of(**byte) == class).count();
        let next = bytes.get(start + length).map(|byte| Class::of(*byte));
        tokens += match class {
            Class::Letter if length <= LONGEST_WORD => length.div_ceil(5),
            Class::Letter => length.div_ceil(2),
            Class::Digit => length.div_ceil(3),
            Class::Space(b' ') if length == 1 && matches!(next, Some(Class::Letter | Class::Other)) => 0,
            Class::Space(_) => length.div_ceil(16),
            Class::Other => length,
        };
        start += length;
    }
    tokens
}

/// The longest run of letters that is taken for a word.
const LONGEST_WORD: usize = 20;

/// What a byte is to the [`estimate`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Space(u8),
    Other,
}

impl Class {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Self::Letter,
            b'0'..=b'9' => Self::Digit,
            b' ' | b'\t' | b'\r' | b'\n' => Self::Space(byte),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts() {
        let check = |text: &str, expected: [usize; 3]| {
            assert_eq!(Tokenizer::ALL.map(|tokenizer| tokenizer.count(text)), expected, "{text:?}");
        };
        check("", [0, 0, 0]);
        check("hello world", [2, 2, 3]);
        check("Extract text and tables from PDF files.", [8, 8, 10]);
        check("处理电子表格和报表", [7, 8, 3]);
    }

    #[test]
    fn no_token_is_longer_than_the_bound() {
        for tokenizer in [Tokenizer::O200kBase, Tokenizer::Cl100kBase] {
            let bpe = &tokenizer.vocabulary().unwrap().bpe;
            let tokens = u32::try_from(bpe.num_tokens()).unwrap();
            assert_eq!((0..tokens).map(|token| bpe.token_len(token)).max(), Some(MAX_TOKEN_BYTES));
        }
    }

    #[test]
    fn names_parse_back() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(Tokenizer::parse(tokenizer.name()), Some(tokenizer));
        }
        assert_eq!(Tokenizer::parse("p50k"), None);
    }

    #[test]
    fn the_estimate_is_not_fooled_by_dense_text() {
        for text in [
            "| 1 | 2 | 3 |\n".repeat(400),
            "0.1,0.2,-3\n".repeat(400),
            "x = y[i] + z(j);\n".repeat(300),
            "Extract text and tables from PDF files, then answer.\n".repeat(100),
            "aGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0IHdpdGggbm8gZW5k".repeat(80),
            "处理电子表格和报表。".repeat(100),
            "\n\t\n ".repeat(200),
        ] {
            let (count, estimate) = (Tokenizer::default().count(&text), estimate(&text));
            assert!(estimate * 3 / 2 >= count, "{estimate} for {count}: {}", &text[..9]);
            assert!(is_clearly_within(&text, text.len()));
            assert!(!is_clearly_within(&text, count - 1));
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[ -~\n]{0,200}", "\\PC{0,60}", "([a-z]{1,4}[ \n/!]{1,3}){0,40}", "[ \t\r\n/.]{0,40}"]
    }

    proptest! {
        #[test]
        fn counting_to_a_limit_agrees_with_counting(text in text(), limit in 0usize..120) {
            for tokenizer in Tokenizer::ALL {
                let count = tokenizer.count(&text);
                prop_assert_eq!(tokenizer.count_up_to(&text, limit), (count <= limit).then_some(count));
            }
        }
    }
}
