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

    /// Returns the most bytes that a text of `tokens` tokens may have.
    pub(super) fn most_bytes(self, tokens: usize) -> usize {
        let of_one = match self {
            Self::O200kBase | Self::Cl100kBase => MAX_TOKEN_BYTES,
            // Four characters of at most four bytes.
            Self::Chars4 => 16,
        };
        tokens.saturating_mul(of_one)
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

/// Returns about how many tokens of [`Tokenizer::O200kBase`] `text` has, in one pass and without the tables.
///
/// On public skills that it was not fitted to it is off by 1.8 % in the median and by less than 7 % for 95 of 100; on Chinese
/// and Japanese ones by 2.2 % and 9 %, on source code by 2.4 % and 9 %, on runs of digests and base64 by up to 10 %.
/// It errs to both sides alike, so it is no bound.
///
/// ```
/// use repertoire_model::catalog::tokens::approximate;
/// assert_eq!(approximate("Extract text and tables from PDF files."), 8);
/// ```
pub fn approximate(text: &str) -> usize {
    let mut before = Kind::Break;
    // No step waits for the one before, and no branch depends on the text.
    let hundredths = text.bytes().fold(0, |sum, byte| {
        let kind = KINDS[usize::from(byte)];
        let weight = WEIGHTS[kind as usize][before as usize];
        before = kind;
        sum + usize::from(weight)
    });
    let joiners = memchr::memmem::find_iter(text.as_bytes(), JOINER).count();
    ((hundredths + joiners * JOINER_WEIGHT + 50) / 100).max(usize::from(!text.is_empty()))
}

/// What joins several emoji to one, and is a token of its own beside them.
const JOINER: &str = "\u{200d}";

/// What a [`JOINER`] adds to what its bytes do, in hundredths of a token.
const JOINER_WEIGHT: usize = 76;

/// What a byte of each [`Kind`], by row, adds after a byte of each kind, by column, in hundredths of a token.
///
/// Fitted by least squares to 2,600 Markdown files of public skills and 400 files of source code, none below 0. The columns
/// are filled up to a power of two.
static WEIGHTS: [[u8; 16]; 14] = [
    [4, 25, 144, 70, 116, 46, 107, 153, 94, 128, 80, 80, 80, 0, 0, 0],
    [73, 15, 161, 56, 82, 63, 72, 124, 60, 16, 80, 80, 80, 0, 0, 0],
    [60, 192, 20, 140, 62, 138, 106, 124, 89, 138, 80, 80, 80, 0, 0, 0],
    [16, 0, 54, 1, 68, 34, 34, 0, 53, 0, 0, 0, 0, 0, 0, 0],
    [105, 220, 170, 77, 0, 16, 77, 19, 0, 91, 80, 80, 80, 0, 0, 0],
    [74, 125, 87, 53, 21, 17, 147, 1, 113, 149, 80, 80, 80, 0, 0, 0],
    [27, 42, 76, 100, 60, 7, 5, 179, 165, 0, 80, 80, 80, 0, 0, 0],
    [21, 49, 85, 97, 69, 41, 55, 17, 0, 110, 80, 80, 80, 0, 0, 0],
    [59, 209, 128, 83, 21, 173, 0, 92, 3, 86, 80, 80, 80, 0, 0, 0],
    [20, 20, 20, 20, 20, 20, 20, 20, 20, 24, 0, 0, 0, 0, 0, 0],
    [0, 0, 125, 60, 70, 146, 165, 0, 100, 54, 30, 80, 80, 0, 0, 0],
    [0, 105, 0, 138, 161, 93, 91, 115, 64, 0, 80, 30, 80, 0, 0, 0],
    [122, 220, 88, 170, 58, 143, 220, 26, 175, 0, 80, 80, 30, 0, 0, 0],
    [152, 220, 160, 170, 130, 143, 220, 130, 175, 180, 80, 80, 80, 80, 0, 0],
];

/// What a byte is to [`approximate`]; the number is its row of [`WEIGHTS`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Blank,
    /// A line end or a tab.
    Break,
    /// `.`, `,` and the like.
    Point,
    /// What rules, emphasis and headings are made of.
    Rule,
    Bracket,
    OtherAscii,
    /// A byte of a character beyond ASCII other than its first.
    Continuation,
    /// The first byte of a character of Chinese, Japanese or Korean.
    Cjk,
    /// The first byte of a dash, a typographic quote, an arrow or a piece of a frame.
    Symbol,
    OtherLead,
    /// The first byte of a character beyond the basic plane, such as an emoji.
    Astral,
}

/// The kind of every byte.
static KINDS: [Kind; 256] = {
    let mut kinds = [Kind::OtherAscii; 256];
    let mut byte = 0_u8;
    loop {
        kinds[byte as usize] = Kind::of(byte);
        if byte == u8::MAX {
            break kinds;
        }
        byte += 1;
    }
};

impl Kind {
    const fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' => Self::Lower,
            b'A'..=b'Z' => Self::Upper,
            b'0'..=b'9' => Self::Digit,
            b' ' => Self::Blank,
            b'\n' | b'\r' | b'\t' => Self::Break,
            b'.' | b',' | b';' | b':' | b'!' | b'?' => Self::Point,
            b'-' | b'=' | b'*' | b'#' | b'~' | b'_' => Self::Rule,
            b'`' | b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}' => Self::Bracket,
            0x00..=0x7F => Self::OtherAscii,
            0x80..=0xBF => Self::Continuation,
            0xE2 => Self::Symbol,
            0xE3..=0xED => Self::Cjk,
            0xF0..=0xF4 => Self::Astral,
            _ => Self::OtherLead,
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

    #[test]
    fn the_approximation_is_near() {
        let skill = "# Filling forms\n\nUse this skill when a PDF has fields to fill in.\n\n1. Run `python scripts/fields.py \
            form.pdf` to list the fields.\n2. Ask the user for values that are missing; **never** invent them.\n\n\
            ```bash\npython scripts/fill.py form.pdf values.json --output filled.pdf\n```\n\n- See [the reference]\
            (references/fields.md) for check boxes and signatures.\n";
        let code = include_str!("tokens.rs");
        let chinese = "处理电子表格和报表。用户提到表格时使用，先读取文件，再回答问题。\n".repeat(9);
        for (text, percent) in [(skill, 8), (code, 12), (&chinese, 15)] {
            let (count, near) = (Tokenizer::default().count(text), approximate(text));
            assert!(near.abs_diff(count) * 100 <= count * percent, "{near} for {count}: {text:.9}");
        }
        assert_eq!([approximate(""), approximate(" "), approximate("a")], [0, 1, 1]);
    }

    #[test]
    fn emoji_and_blanks_are_not_far_off() {
        for text in [
            "😀🚀🎉🔥🦀🧑🏿".repeat(20),
            "🚀".repeat(50),
            "👩‍👩‍👧‍👦".repeat(50),
            "👨‍💻👩‍🚀🧑‍⚕️".repeat(50),
            "🇩🇪🇫🇷".repeat(50),
            "𝒜𝒷𝒸".repeat(50),
            "Ship it 🚀 now ✅ ok\n".repeat(50),
            " ".repeat(1_000),
            " ".repeat(20_000),
            format!("| a{}| b{}|\n", " ".repeat(60), " ".repeat(90)).repeat(50),
        ] {
            let (count, near) = (Tokenizer::default().count(&text), approximate(&text));
            assert!(near * 3 >= count * 2 && near * 2 <= count * 3, "{near} for {count}: {text:.9}");
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

        #[test]
        fn no_text_has_more_bytes_than_its_tokens_may(text in "\\PC{0,60}|[ \\n]{0,200}|[🦀文]{0,40}") {
            for tokenizer in Tokenizer::ALL {
                prop_assert!(text.len() <= tokenizer.most_bytes(tokenizer.count(&text)));
            }
        }

        #[test]
        fn more_text_never_has_fewer_tokens(text in text(), more in text()) {
            let both = text.clone() + &more;
            prop_assert!(approximate(&text) <= approximate(&both));
        }
    }
}
