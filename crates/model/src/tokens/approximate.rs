//! Approximate token counts, in one pass and without a vocabulary.

/// Returns whether `text` clearly has no more than `limit` tokens, without the vocabulary.
///
/// No token is shorter than a byte; beyond that the approximation must leave a third of the limit free.
pub(crate) fn is_clearly_within(text: &str, limit: usize) -> bool {
    text.len() <= limit || approximate(text) * 3 / 2 < limit
}

/// Returns about how many tokens of `o200k_base` the `text` has, in one pass and without the vocabulary.
///
/// On public skills that it was not fitted to it is off by 1.8 % in the median and by less than 7 % for 95 of
/// 100; on Chinese and Japanese ones by 2.2 % and 9 %, on source code by 2.4 % and 9 %, on runs of digests
/// and base64 by up to 10 %. It errs to both sides alike, so it is not a bound.
///
/// ```
/// use repertoire_model::tokens::approximate;
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

/// The zero-width joiner of emoji sequences, which is a token of its own.
const JOINER: &str = "\u{200d}";

/// The weight of a [`JOINER`] beside that of its bytes, in hundredths of a token.
const JOINER_WEIGHT: usize = 76;

/// The weight of a byte of each [`Kind`] (row) after a byte of each kind (column), in hundredths of a token.
///
/// Fitted by least squares to 2,600 Markdown files of public skills and 400 files of source code, none below
/// 0. The columns are filled up to a power of two.
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

/// The kind of a byte; the number is its row of [`WEIGHTS`].
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
    /// Characters of rules, emphasis and headings.
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

    use super::super::Tokenizer;
    use super::*;

    #[test]
    fn dense_text_is_not_underestimated() {
        for text in [
            "| 1 | 2 | 3 |\n".repeat(400),
            "0.1,0.2,-3\n".repeat(400),
            "x = y[i] + z(j);\n".repeat(300),
            "Extract text and tables from PDF files, then answer.\n".repeat(100),
            "aGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0IHdpdGggbm8gZW5k".repeat(80),
            "处理电子表格和报表。".repeat(100),
            "\n\t\n ".repeat(200),
        ] {
            let count = Tokenizer::default().count(&text);
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
        let code = include_str!("approximate.rs");
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
        fn more_text_never_has_fewer_tokens(text in text(), more in text()) {
            let both = text.clone() + &more;
            prop_assert!(approximate(&text) <= approximate(&both));
        }
    }
}
