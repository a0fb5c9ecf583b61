//! Cuts a text into the pieces of words that a table of meanings knows.
//!
//! The rules are those that the table was trained with (`models/README.md`), to the letter.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The most characters of a word that is looked up.
const MAX_WORD_CHARS: usize = 100;
/// What marks a piece that continues a word.
const CONTINUED: &str = "##";

/// The pieces that a table knows, by their text.
pub(super) struct Pieces<'a>(HashMap<&'a str, u32>);

impl<'a> Pieces<'a> {
    /// Returns the pieces of `vocabulary`, one a line, numbered from 0.
    pub(super) fn new(vocabulary: &'a str) -> Self {
        Self(vocabulary.split('\n').zip(0..).collect())
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of the piece that is the whole of `word`.
    pub(super) fn whole(&self, word: &str) -> Option<u32> {
        self.0.get(word).copied()
    }

    /// Calls `take` with the number of each piece of `text`, in order, until it returns false.
    pub(super) fn each(&self, text: &str, take: &mut impl FnMut(u32) -> bool) {
        let mut cutter = Cutter { pieces: self, folded: String::new(), key: String::new(), take };
        if text.is_ascii() {
            let mut words =
                text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            words.all(|word| cutter.word(word));
        } else {
            let plain: String = text.nfd().filter(|letter| !is_combining_mark(*letter)).collect();
            let mut words =
                plain.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
            words.all(|word| cutter.scripts(word));
        }
    }
}

/// What is needed while a text is cut.
struct Cutter<'p, 'a, F> {
    pieces: &'p Pieces<'a>,
    folded: String,
    key: String,
    take: &'p mut F,
}

impl<F: FnMut(u32) -> bool> Cutter<'_, '_, F> {
    /// Takes `run`, in which each ideograph is a word of its own. Returns whether to go on.
    fn scripts(&mut self, run: &str) -> bool {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let end = match is_ideograph(first) {
                true => first.len_utf8(),
                false => rest.find(is_ideograph).unwrap_or(rest.len()),
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
        if let Some(number) = self.pieces.0.get(self.folded.as_str()) {
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
        self.folded.extend(word.chars().flat_map(char::to_lowercase));
    }

    /// Takes the longest pieces that the folded word is made of; none where a rest is unknown.
    fn folded_pieces(&mut self) -> bool {
        let word = self.folded.as_str();
        if word.chars().count() > MAX_WORD_CHARS {
            return true;
        }
        let mut numbers = Vec::new();
        let mut start = 0;
        while start < word.len() {
            let mut end = word.len();
            let found = loop {
                let part = &word[start..end];
                self.key.clear();
                if start > 0 {
                    self.key.push_str(CONTINUED);
                }
                self.key.push_str(part);
                match self.pieces.0.get(self.key.as_str()) {
                    Some(number) => break Some(*number),
                    None => end = word[..end].char_indices().next_back().map_or(start, |(index, _)| index),
                }
                if end <= start {
                    break None;
                }
            };
            let Some(number) = found else { return true };
            numbers.push(number);
            start = end;
        }
        numbers.into_iter().all(&mut *self.take)
    }
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter as u32,
        0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff
        | 0x20000..=0x2a6df | 0x2a700..=0x2ceaf | 0x2f800..=0x2fa1f)
}

/// Returns the parts of an ASCII word: runs of capitals, capitalised or plain words, numbers.
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
    fn words_are_cut_where_capitals_say_so() {
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
        check("", &[]);
    }
}
