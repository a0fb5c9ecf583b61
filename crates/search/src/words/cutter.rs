//! The tokenizer: splits a text into the words that are compared.
//!
//! Words are runs of letters and digits in any script, in lower case and without accents. An identifier
//! yields its parts and the whole: `BlobServiceClient` is `blob`, `service`, `client` and
//! `blobserviceclient`. Scripts without spaces are split into overlapping pairs of characters, which needs no
//! dictionary.

use unicode_normalization::UnicodeNormalization;

/// The most bytes of a word; longer ones are data, not language.
const MAX_WORD_BYTES: usize = 64;

/// The role of a text in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextRole {
    /// A text that is searched.
    Document,
    /// A text that is searched for.
    Query,
}

/// Splits texts into words. Its buffers are reused for the next text.
#[derive(Debug, Default)]
pub(crate) struct WordCutter {
    plain: String,
    buffers: Buffers,
}

#[derive(Debug, Default)]
struct Buffers {
    whole: String,
    part: String,
}

impl WordCutter {
    /// Calls `take` with every word of `text`, in order.
    pub(crate) fn each(&mut self, text: &str, role: TextRole, mut take: impl FnMut(&str)) {
        let plain = if text.is_ascii() {
            text
        } else {
            // Full-width letters, ligatures and accented letters become plain; Hangul and Kana are composed.
            let is_accent = |letter: &char| matches!(letter, '\u{300}'..='\u{36f}');
            self.plain.clear();
            self.plain.extend(text.nfkd().filter(|letter| !is_accent(letter)).nfc());
            &self.plain
        };
        runs(plain, &mut self.buffers, role, &mut take);
    }
}

/// Takes the words of `run`, which `after` follows in the text.
fn ascii_word(run: &str, after: &str, buffers: &mut Buffers, take: &mut impl FnMut(&str)) {
    match (run, after.as_bytes().first()) {
        // Two programming languages whose names would otherwise be one letter.
        ("c" | "C", Some(b'#')) => take("csharp"),
        ("c" | "C", Some(b'+')) => take("cpp"),
        _ => word(run, buffers, take),
    }
}

fn runs(text: &str, buffers: &mut Buffers, role: TextRole, take: &mut impl FnMut(&str)) {
    let mut rest = text;
    while let Some(start) = rest.find(is_of_word) {
        rest = &rest[start..];
        let end = rest.find(|letter| !is_of_word(letter) && letter != '_').unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if run.is_ascii() { ascii_word(run, after, buffers, take) } else { scripts(run, buffers, role, take) }
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || !letter.is_ascii() && unicode_normalization::char::is_combining_mark(letter)
}

/// Splits `run` between scripts with and without spaces.
fn scripts(run: &str, buffers: &mut Buffers, role: TextRole, take: &mut impl FnMut(&str)) {
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let is_dense = is_dense(first);
        let end = rest.find(|letter| self::is_dense(letter) != is_dense).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        if is_dense { pairs(piece, role, take) } else { word(piece, buffers, take) }
    }
}

/// Returns whether `letter` belongs to a script without spaces between words.
pub(crate) fn is_dense(letter: char) -> bool {
    matches!(letter as u32,
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff   // Thai, Lao, Burmese, Khmer
        | 0x1100..=0x11ff | 0x3040..=0x30ff | 0x3130..=0x318f // Jamo, Kana
        | 0x3400..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff // Han, Hangul
        | 0x20000..=0x3ffff)
}

/// Takes each pair of adjacent characters; also each single one in a document, or if `piece` has only one.
fn pairs(piece: &str, role: TextRole, take: &mut impl FnMut(&str)) {
    let bounds: Vec<usize> = piece.char_indices().map(|(index, _)| index).chain([piece.len()]).collect();
    if role == TextRole::Document || bounds.len() == 2 {
        bounds.windows(2).for_each(|bounds| take(&piece[bounds[0]..bounds[1]]));
    }
    bounds.windows(3).for_each(|bounds| take(&piece[bounds[0]..bounds[2]]));
}

/// Takes the parts of `run`, if it has several, and the whole.
fn word(run: &str, buffers: &mut Buffers, take: &mut impl FnMut(&str)) {
    if run.len() > MAX_WORD_BYTES {
        return;
    }
    let Buffers { whole, part } = buffers;
    whole.clear();
    part.clear();
    let is_part_start = |letter: u8| letter == b'_' || letter.is_ascii_uppercase();
    if run.is_ascii() && !run.starts_with('_') && !run.bytes().skip(1).any(is_part_start) {
        whole.push_str(run);
        whole.make_ascii_lowercase();
        return take(whole);
    }
    let mut letters = run.chars().peekable();
    let (mut before, mut parts) = ('_', 0usize);
    while let Some(letter) = letters.next() {
        let is_start = letter.is_uppercase()
            && (before.is_lowercase() || before.is_uppercase() && starts_word(letters.clone()));
        if (is_start || letter == '_') && !part.is_empty() {
            parts += usize::from(hand_over(part, take));
        }
        before = letter;
        if letter != '_' {
            let from = whole.len();
            whole.extend(letter.to_lowercase());
            part.push_str(&whole[from..]);
        }
    }
    if part.len() < whole.len() {
        parts += usize::from(hand_over(part, take));
    }
    // If the only part is the whole, it is not taken twice.
    if parts != 1 || whole != part {
        take(whole);
    }
}

/// Returns whether a capital before `rest` starts a new word: `HTTPServer` has two words, `APIs` has one.
fn starts_word(mut rest: impl Iterator<Item = char>) -> bool {
    rest.next().is_some_and(char::is_lowercase) && rest.next().is_some_and(char::is_lowercase)
}

/// Takes `part`, unless it is a single letter, and empties it. Returns whether it was taken.
fn hand_over(part: &mut String, take: &mut impl FnMut(&str)) -> bool {
    let is_word = part.chars().nth(1).is_some();
    if is_word {
        take(part);
    }
    part.clear();
    is_word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        WordCutter::default().each(text, TextRole::Query, |word| found.push(word.to_owned()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        check("Fill the PDF form!", &["fill", "the", "pdf", "form"]);
        check("don't  k8s/v1.2", &["don", "t", "k8s", "v1", "2"]);
        check("", &[]);
        check("🙂 -- \"*\" ", &[]);
        check("café Straße", &["cafe", "straße"]);
        check("ＰＤＦ", &["pdf"]);
    }

    #[test]
    fn identifiers_yield_their_parts_and_the_whole() {
        check("BlobServiceClient", &["blob", "service", "client", "blobserviceclient"]);
        check("get_user_id", &["get", "user", "id", "getuserid"]);
        check("HTTPServer APIs", &["http", "server", "httpserver", "apis"]);
        check("SaaS B2B", &["saa", "saas", "b2b"]);
        check("_private", &["private"]);
        check("C# and C++", &["csharp", "and", "cpp"]);
    }

    #[test]
    fn scripts_without_spaces_are_split_into_pairs() {
        check("翻译文档", &["翻译", "译文", "文档"]);
        check("猫", &["猫"]);
        check("用Rust写", &["用", "rust", "写"]);
        check("문서 번역", &["문서", "번역"]);
        check("バックアップ ﾊﾞｯｸ", &["バッ", "ック", "クア", "アッ", "ップ", "バッ", "ック"]);
        let mut found = Vec::new();
        WordCutter::default().each("翻译", TextRole::Document, |word| found.push(word.to_owned()));
        assert_eq!(found, ["翻", "译", "翻译"]);
    }

    #[test]
    fn words_that_are_too_long_are_left_out() {
        check(&"x".repeat(MAX_WORD_BYTES + 1), &[]);
        check(&"x".repeat(MAX_WORD_BYTES), &["x".repeat(MAX_WORD_BYTES).as_str()]);
    }
}
