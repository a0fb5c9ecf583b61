//! Splits text into the pieces that `o200k_base` encodes one by one.
//!
//! The published pattern is an alternation of which the first match counts, where `U` stands for
//! `\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}` and `W` for `\p{Ll}\p{Lm}\p{Lo}\p{M}`:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[U]*[W]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]?[U]+[W]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! \p{N}{1,3}
//!  ?[^\s\p{L}\p{N}]+[\r\n/]*
//! \s*[\r\n]+
//! \s+(?!\S)
//! \s+
//! ```

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Returns the pieces of `text`, which make up the whole of it.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(piece_length(rest));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the length of the first piece of `text` in bytes.
fn piece_length(text: &str) -> usize {
    word(text).or_else(|| digits(text)).or_else(|| symbols(text)).unwrap_or_else(|| white_space(text))
}

/// Matches the first two alternatives: a word with the character before it and a contraction behind it.
fn word(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let joins_a_word = matches!(CharClass::of(first), CharClass::Mark | CharClass::Space | CharClass::Other);
    let behind_first = joins_a_word.then_some(first.len_utf8());
    let end = behind_first
        .and_then(|start| mixed_case(text, start))
        .or_else(|| mixed_case(text, 0))
        .or_else(|| behind_first.and_then(|start| upper_case(text, start)))
        .or_else(|| upper_case(text, 0))?;
    Some(end + contraction(&text[end..]))
}

/// Returns the end of `[U]*[W]+` at `start`.
fn mixed_case(text: &str, start: usize) -> Option<usize> {
    let mut end = start;
    // `[U]*` gives back what `[W]+` needs to match: its last character that is in both classes.
    let mut last_of_both = None;
    for c in text[start..].chars() {
        let class = CharClass::of(c);
        if !class.is_upper() {
            break;
        }
        end += c.len_utf8();
        if class.is_lower() {
            last_of_both = Some(end);
        }
    }
    let lower = run(&text[end..], CharClass::is_lower);
    if lower > 0 { Some(end + lower) } else { last_of_both }
}

/// Returns the end of `[U]+[W]*` at `start`, where [`mixed_case`] did not match: no character of `W` follows.
fn upper_case(text: &str, start: usize) -> Option<usize> {
    let upper = run(&text[start..], CharClass::is_upper);
    (upper > 0).then_some(start + upper)
}

/// Returns the length of the contraction that `text` starts with, or 0.
fn contraction(text: &str) -> usize {
    let Some(letters) = text.strip_prefix('\'') else { return 0 };
    let matches =
        |ending: &&str| letters.get(..ending.len()).is_some_and(|start| start.eq_ignore_ascii_case(ending));
    // The long s folds to `s`.
    ["s", "t", "re", "ve", "m", "ll", "d"]
        .iter()
        .find(|ending| matches(ending))
        .map(|ending| 1 + ending.len())
        .or_else(|| letters.starts_with('ſ').then_some(1 + 'ſ'.len_utf8()))
        .unwrap_or(0)
}

fn digits(text: &str) -> Option<usize> {
    let digits = text.chars().take(3).take_while(|c| CharClass::of(*c) == CharClass::Number);
    Some(digits.map(char::len_utf8).sum()).filter(|length| *length > 0)
}

fn symbols(text: &str) -> Option<usize> {
    let start = usize::from(text.starts_with(' '));
    let symbols = run(&text[start..], |class| matches!(class, CharClass::Other | CharClass::Mark));
    let end = start + symbols;
    let breaks = text[end..].bytes().take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/')).count();
    (symbols > 0).then_some(end + breaks)
}

/// Matches the last three alternatives: white space up to its last line end, or without its last character if
/// a word may take that, or all of it.
fn white_space(text: &str) -> usize {
    let length = run(text, |class| matches!(class, CharClass::Space | CharClass::LineEnd));
    let space = &text[..length];
    if let Some(line_end) = space.rfind(['\r', '\n']) {
        return line_end + 1;
    }
    let last = space.char_indices().next_back().map_or(0, |(start, _)| start);
    if length == text.len() || last == 0 { length } else { last }
}

/// Returns the length of the longest start of `text` that has only characters of accepted classes.
fn run(text: &str, is_member: impl Fn(CharClass) -> bool) -> usize {
    text.chars().take_while(|c| is_member(CharClass::of(*c))).map(char::len_utf8).sum()
}

/// A class of characters that the pattern distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    /// `\p{Lu}` and `\p{Lt}`.
    Upper,
    /// `\p{Ll}`.
    Lower,
    /// `\p{Lm}` and `\p{Lo}`.
    Caseless,
    /// `\p{M}`.
    Mark,
    /// `\p{N}`.
    Number,
    /// `[\r\n]`.
    LineEnd,
    /// `\s` without line ends.
    Space,
    Other,
}

impl CharClass {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Number,
            '\r' | '\n' => Self::LineEnd,
            _ if c.is_whitespace() => Self::Space,
            '\0'..='\x7f' => Self::Other,
            _ => Self::of_category(c.general_category()),
        }
    }

    fn of_category(category: GeneralCategory) -> Self {
        match category {
            GeneralCategory::UppercaseLetter | GeneralCategory::TitlecaseLetter => Self::Upper,
            GeneralCategory::LowercaseLetter => Self::Lower,
            GeneralCategory::ModifierLetter | GeneralCategory::OtherLetter => Self::Caseless,
            GeneralCategory::NonspacingMark
            | GeneralCategory::SpacingMark
            | GeneralCategory::EnclosingMark => Self::Mark,
            GeneralCategory::DecimalNumber | GeneralCategory::LetterNumber | GeneralCategory::OtherNumber => {
                Self::Number
            }
            _ => Self::Other,
        }
    }

    /// Returns whether it belongs to `U`.
    fn is_upper(self) -> bool {
        matches!(self, Self::Upper | Self::Caseless | Self::Mark)
    }

    /// Returns whether it belongs to `W`.
    fn is_lower(self) -> bool {
        matches!(self, Self::Lower | Self::Caseless | Self::Mark)
    }
}
