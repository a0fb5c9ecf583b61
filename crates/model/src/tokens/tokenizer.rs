//! The tokenizers that counts can be made with.
//!
//! No vendor publishes the tokenizers of all its models, so every number is an estimate for some model. A
//! reported number always names its tokenizer.

use super::split::pieces;
use super::vocabulary::{MAX_TOKEN_BYTES, Vocabulary};

crate::words! {
    /// A way of counting tokens.
    #[derive(Default)]
    Tokenizer {
        /// The vocabulary of GPT-4o and later; the default.
        ///
        /// Its table is built on the first count, which takes a few milliseconds and 2 MB once per process.
        #[default]
        O200kBase "o200k_base",
        /// A quarter of the number of characters, rounded up.
        ///
        /// Over many public skills the mean is right within two percent in Latin script. In Chinese, Japanese
        /// and Korean, with 1.8 characters to a token, this is less than half of the true count.
        Chars4 "chars4",
    }
}

impl Tokenizer {
    /// Returns the number of tokens in `text`.
    pub fn count(self, text: &str) -> usize {
        match self {
            Self::O200kBase => {
                let vocabulary = Vocabulary::get();
                pieces(text).map(|piece| vocabulary.count(piece)).sum()
            }
            Self::Chars4 => text.chars().count().div_ceil(4),
        }
    }

    /// Returns the number of tokens in `text` if it is at most `limit`, and stops counting soon after that.
    pub fn count_up_to(self, text: &str, limit: usize) -> Option<usize> {
        if text.len() > self.most_bytes(limit) {
            return None;
        }
        if self == Self::Chars4 {
            return Some(self.count(text)).filter(|count| *count <= limit);
        }
        let vocabulary = Vocabulary::get();
        pieces(text)
            .try_fold(0, |count, piece| Some(count + vocabulary.count(piece)).filter(|count| *count <= limit))
    }

    /// Returns the most bytes that a text of `tokens` tokens may have.
    pub(crate) fn most_bytes(self, tokens: usize) -> usize {
        let of_one = match self {
            Self::O200kBase => MAX_TOKEN_BYTES,
            // Four characters of at most four bytes.
            Self::Chars4 => 16,
        };
        tokens.saturating_mul(of_one)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: [usize; 2]) {
        assert_eq!(Tokenizer::ALL.map(|tokenizer| tokenizer.count(text)), expected, "{text:?}");
    }

    #[test]
    fn texts_are_counted_with_every_tokenizer() {
        check("", [0, 0]);
        check("hello world", [2, 3]);
        check("Extract text and tables from PDF files.", [8, 10]);
        check("处理电子表格和报表", [7, 3]);
    }

    #[test]
    fn names_parse_back() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(Tokenizer::parse(tokenizer.as_str()), Some(tokenizer));
        }
        assert_eq!(Tokenizer::parse("p50k"), None);
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[ -~\n]{0,200}", "\\PC{0,60}", "([a-z]{1,4}[ \n/!]{1,3}){0,40}", "[ \t\r\n/.]{0,40}"]
    }

    /// The file has 300 texts with the pieces and the number of tokens that `bpe-openai` 0.3.2 finds in them.
    #[test]
    fn pieces_and_counts_are_those_of_bpe_openai() {
        for line in include_str!("../../testdata/o200k_base.jsonl").lines() {
            let (expected, count): (Vec<String>, usize) = serde_json::from_str(line).unwrap();
            let text = expected.concat();
            assert_eq!(pieces(&text).collect::<Vec<_>>(), expected);
            assert_eq!(Tokenizer::O200kBase.count(&text), count, "{text:?}");
        }
    }

    /// Pieces of text may have any length: a merge in quadratic time would take forever here.
    #[test]
    fn long_pieces_are_counted() {
        let counts =
            [("a", 25_000), ("xq", 200_001), ("é", 200_000), ("-=", 25_004), (" ", 1_563), ("文", 200_000)];
        for (unit, count) in counts {
            assert_eq!(Tokenizer::O200kBase.count(&unit.repeat(200_000)), count, "{unit:?}");
        }
    }

    proptest! {
        #[test]
        fn counting_to_a_limit_agrees_with_counting(text in text(), limit in 0usize..120) {
            for tokenizer in Tokenizer::ALL {
                let count = tokenizer.count(&text);
                prop_assert_eq!(tokenizer.count_up_to(&text, limit), (count <= limit).then_some(count));
            }
        }

        #[test]
        fn no_text_has_more_bytes_than_its_tokens_may(text in "\\PC{0,60}|[ \\n]{0,200}|[🦀文]{0,40}") {
            for tokenizer in Tokenizer::ALL {
                prop_assert!(text.len() <= tokenizer.most_bytes(tokenizer.count(&text)));
            }
        }
    }
}
