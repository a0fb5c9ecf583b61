//! Counting tokens: exactly for two published vocabularies, roughly by characters, and cheap bounds for both.
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

    /// Returns whether `text` has fewer than `limit` tokens, if that can be told without counting them.
    ///
    /// A token has at least one byte, and no token spans two words, so texts far from a limit need no tables. An
    /// answer is never wrong.
    ///
    /// ```
    /// use repertoire_model::catalog::Tokenizer;
    /// let tokenizer = Tokenizer::O200kBase;
    /// assert_eq!(tokenizer.certainly_below("one two three", 100), Some(true));
    /// assert_eq!(tokenizer.certainly_below("one two three", 3), Some(false));
    /// assert_eq!(tokenizer.certainly_below("one two three", 8), None);
    /// ```
    pub fn certainly_below(self, text: &str, limit: usize) -> Option<bool> {
        if self == Self::Chars4 {
            return Some(self.count(text) < limit);
        }
        if text.len() < limit {
            return Some(true);
        }
        (words(text) >= limit).then_some(false)
    }

    /// Returns whether `text` has fewer than `limit` tokens, counting only when it is near.
    pub fn is_below(self, text: &str, limit: usize) -> bool {
        self.certainly_below(text, limit).unwrap_or_else(|| match limit.checked_sub(1) {
            Some(most) => self.count_up_to(text, most).is_some(),
            None => false,
        })
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

/// Returns the number of tokens in `text` by the default tokenizer.
pub fn count_tokens(text: &str) -> usize {
    Tokenizer::default().count(text)
}

/// Returns the number of words of `text` that hold an ASCII letter or digit: each is at least one token.
fn words(text: &str) -> usize {
    let mut count = 0;
    let mut counted = false;
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            count += usize::from(!counted);
            counted = true;
        } else if byte.is_ascii_whitespace() {
            counted = false;
        }
    }
    count
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
    fn nothing_is_below_zero() {
        for tokenizer in Tokenizer::ALL {
            assert!(!tokenizer.is_below("", 0));
            assert!(tokenizer.is_below("", 1));
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[ -~\n]{0,200}", "\\PC{0,60}", "([a-z]{1,4}[ \n/!]{1,3}){0,40}", "[ \t\r\n/.]{0,40}"]
    }

    proptest! {
        #[test]
        fn the_cheap_bound_is_never_wrong(text in text(), limit in 0usize..120) {
            for tokenizer in Tokenizer::ALL {
                let below = tokenizer.count(&text) < limit;
                prop_assert_eq!(tokenizer.certainly_below(&text, limit).unwrap_or(below), below);
                prop_assert_eq!(tokenizer.is_below(&text, limit), below);
            }
        }

        #[test]
        fn counting_to_a_limit_agrees_with_counting(text in text(), limit in 0usize..120) {
            for tokenizer in Tokenizer::ALL {
                let count = tokenizer.count(&text);
                prop_assert_eq!(tokenizer.count_up_to(&text, limit), (count <= limit).then_some(count));
            }
        }
    }
}
