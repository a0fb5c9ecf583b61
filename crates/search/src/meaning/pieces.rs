//! Splits a text into the word pieces of an embedding table.
//!
//! The table was trained with exactly these rules (`models/README.md`).

use hashbrown::HashMap;
use repertoire_model::text::start as start_of;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The most characters of a word that is looked up.
const MAX_WORD_CHARS: usize = 100;
/// The length of an average piece with its line end, in bytes.
const USUAL_PIECE_BYTES: usize = 7;
/// The prefix of a piece that continues a word.
const CONTINUATION: &str = "##";

/// The word pieces of a table, by their text.
pub(crate) struct Pieces<'a> {
    numbers: HashMap<&'a str, u32>,
    /// The length of the longest piece in bytes, without its prefix.
    longest: usize,
}

impl<'a> Pieces<'a> {
    /// Returns the pieces of `vocabulary`, one per line, numbered from 0.
    pub(crate) fn new(vocabulary: &'a str) -> Self {
        let mut numbers: HashMap<&'a str, u32> = HashMap::with_capacity(vocabulary.len() / USUAL_PIECE_BYTES);
        numbers.extend(vocabulary.split('\n').zip(0..));
        let lengths = numbers.keys().map(|piece| piece.strip_prefix(CONTINUATION).unwrap_or(piece).len());
        let longest = lengths.max().unwrap_or_default();
        Self { numbers, longest }
    }

    /// Returns the number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the number of the piece that equals `word`.
    pub(crate) fn whole(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    /// Calls `take` with the number of each piece of `text`, in order, until it returns false.
    pub(crate) fn each(&self, text: &str, take: &mut impl FnMut(u32) -> bool) {
        let (folded, key, numbers) = Default::default();
        let mut cutter = PieceCutter { pieces: self, folded, key, numbers, take };
        let mut plain = String::new();
        // Line by line: words do not span lines, and most texts are not read to their end.
        text.split_inclusive('\n').all(|line| {
            let line = if line.is_ascii() {
                line
            } else {
                plain.clear();
                plain.extend(line.nfd().filter(|letter| !is_combining_mark(*letter)));
                &plain
            };
            let words = line.split(|letter: char| !letter.is_alphanumeric());
            words.filter(|word| !word.is_empty()).all(|word| cutter.scripts(word))
        });
    }
}

/// The state while a text is split.
struct PieceCutter<'p, 'a, F> {
    pieces: &'p Pieces<'a>,
    folded: String,
    key: String,
    numbers: Vec<u32>,
    take: &'p mut F,
}

impl<F: FnMut(u32) -> bool> PieceCutter<'_, '_, F> {
    /// Takes the words of `run`, in which each ideograph is a word. Returns whether to go on.
    fn scripts(&mut self, run: &str) -> bool {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let end = if is_ideograph(first) {
                first.len_utf8()
            } else {
                rest.find(is_ideograph).unwrap_or(rest.len())
            };
            let (word, after) = rest.split_at(end);
            rest = after;
            if !self.word(word) {
                return false;
            }
        }
        true
    }

    fn word(&mut self, word: &str) -> bool {
        self.fold(word);
        if let Some(number) = self.pieces.numbers.get(self.folded.as_str()) {
            return (self.take)(*number);
        }
        let is_split = word.len() <= MAX_WORD_CHARS
            && word.is_ascii()
            && word.bytes().any(|letter| letter.is_ascii_uppercase());
        let Some(parts) = is_split.then(|| camel_parts(word)).filter(|parts| parts.len() > 1) else {
            return self.folded_pieces();
        };
        parts.into_iter().all(|part| {
            self.fold(part);
            self.folded_pieces()
        })
    }

    fn fold(&mut self, word: &str) {
        self.folded.clear();
        if word.is_ascii() {
            self.folded.push_str(word);
            self.folded.make_ascii_lowercase();
        } else {
            self.folded.extend(word.chars().flat_map(char::to_lowercase));
        }
    }

    /// Takes the longest pieces of the folded word, from its start; none if a rest has no piece.
    fn folded_pieces(&mut self) -> bool {
        let Self { pieces, folded, key, numbers, take } = self;
        let word = folded.as_str();
        if word.len() > MAX_WORD_CHARS && word.chars().count() > MAX_WORD_CHARS {
            return true;
        }
        numbers.clear();
        let mut start = 0;
        while start < word.len() {
            key.clear();
            if start > 0 {
                key.push_str(CONTINUATION);
            }
            let mark = key.len();
            // No piece is longer.
            key.push_str(start_of(&word[start..], pieces.longest));
            let number = loop {
                if key.len() <= mark {
                    return true;
                }
                if let Some(number) = pieces.numbers.get(key.as_str()) {
                    break *number;
                }
                key.pop();
            };
            numbers.push(number);
            start += key.len() - mark;
        }
        numbers.iter().copied().all(take)
    }
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter as u32,
        0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff
        | 0x20000..=0x2a6df | 0x2a700..=0x2ceaf | 0x2f800..=0x2fa1f)
}

/// Returns the parts of an ASCII camel-case word: runs of capitals, capitalised or lower-case words, numbers.
fn camel_parts(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    let run =
        |from: usize, is_of: fn(&u8) -> bool| bytes[from..].iter().take_while(|byte| is_of(byte)).count();
    let mut parts = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let capitals = run(start, u8::is_ascii_uppercase);
        let small = run(start + capitals, u8::is_ascii_lowercase);
        let length = match (capitals, small) {
            (0, 0) => run(start, u8::is_ascii_digit).max(1),
            (0, small) => small,
            (1, small) => 1 + small,
            (capitals, 0) => capitals,
            // The last capital belongs to the word that follows.
            (capitals, _) => capitals - 1,
        };
        parts.push(&word[start..start + length]);
        start += length;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_is_split() {
        assert_eq!(camel_parts("XMLHttpRequest2"), ["XML", "Http", "Request", "2"]);
        assert_eq!(camel_parts("DefaultAzureCredential"), ["Default", "Azure", "Credential"]);
        assert_eq!(camel_parts("iOS"), ["i", "OS"]);
        assert_eq!(camel_parts("ABC"), ["ABC"]);
    }

    #[test]
    fn the_longest_pieces_are_taken_and_unknown_words_are_left_out() {
        let pieces = Pieces::new("un\n##able\n##a\nable\n中\nhttp");
        let check = |text: &str, expected: &[u32]| {
            let mut found = Vec::new();
            pieces.each(text, &mut |number| {
                found.push(number);
                true
            });
            assert_eq!(found, expected, "{text}");
        };
        check("unable able", &[0, 1, 3]);
        check("unknown UNA", &[0, 2]);
        check("中文", &[4]);
        check("HttpAble", &[5, 3]);
        check("únable", &[0, 1]);
        check(&"un".repeat(60), &[]);
        check("un\nable\u{301} — un\n中 able", &[0, 3, 0, 4, 3]);
        check("", &[]);
    }
}
