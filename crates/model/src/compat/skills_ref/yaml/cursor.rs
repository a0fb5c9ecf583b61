//! The place in the text that is being read, and the character classes of YAML 1.1 that ruamel keeps.

use super::super::error::Crash;
use super::fault::Refusal;

/// What [`Cursor::peek`] answers at the end of the text. The text itself never holds it.
pub(super) const END: char = '\0';

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// How many characters stand before it.
    pub(super) index: usize,
    /// Its line, counted from 0.
    pub(super) line: usize,
    /// Its column, counted from 0.
    pub(super) column: usize,
}

/// A text and a place in it.
pub(super) struct Cursor {
    chars: Vec<char>,
    mark: Mark,
}

impl Cursor {
    /// Returns a cursor at the start of `text`, unless `text` holds a character that YAML refuses.
    ///
    /// The reference meant to report such a character, but trips over its own report.
    pub(super) fn new(text: &str) -> Result<Self, Refusal> {
        if text.chars().any(|c| !is_yaml_character(c)) {
            let line = "AttributeError: 'ReaderError' object has no attribute 'context_mark'";
            return Err(Refusal::Crash(Crash::new(line)));
        }
        Ok(Self { chars: text.chars().collect(), mark: Mark { index: 0, line: 0, column: 0 } })
    }

    pub(super) fn buffer(&self) -> &[char] {
        &self.chars
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    pub(super) fn column(&self) -> usize {
        self.mark.column
    }

    pub(super) fn peek(&self) -> char {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, offset: usize) -> char {
        self.chars.get(self.mark.index + offset).copied().unwrap_or(END)
    }

    /// Moves one character on. Only `\n` and a lone `\r` count as lines here, although more end a line below.
    pub(super) fn forward(&mut self) {
        let c = self.peek();
        if self.mark.index < self.chars.len() {
            self.mark.index += 1;
        }
        if c == '\n' || (c == '\r' && self.peek() != '\n') {
            self.mark.line += 1;
            self.mark.column = 0;
        } else if c != '\u{feff}' {
            self.mark.column += 1;
        }
    }

    pub(super) fn forward_by(&mut self, count: usize) {
        for _ in 0..count {
            self.forward();
        }
    }

    /// Returns the next `count` characters and moves past them.
    pub(super) fn take(&mut self, count: usize) -> String {
        let end = (self.mark.index + count).min(self.chars.len());
        let text = self.chars[self.mark.index..end].iter().collect();
        self.forward_by(count);
        text
    }

    /// Moves past every character that `wanted` holds for and returns how many they were.
    pub(super) fn skip_while(&mut self, wanted: impl Fn(char) -> bool) -> usize {
        let mut count = 0;
        while self.peek() != END && wanted(self.peek()) {
            self.forward();
            count += 1;
        }
        count
    }

    /// Moves past one line break, if one is here, and returns what it becomes in a scalar.
    pub(super) fn line_break(&mut self) -> Option<char> {
        match self.peek() {
            '\r' if self.peek_at(1) == '\n' => {
                self.forward_by(2);
                Some('\n')
            }
            '\r' | '\n' | '\u{85}' => {
                self.forward();
                Some('\n')
            }
            separator @ ('\u{2028}' | '\u{2029}') => {
                self.forward();
                Some(separator)
            }
            _ => None,
        }
    }

    /// Tells whether `...` stands here with a blank after it.
    pub(super) fn at_document_end(&self) -> bool {
        (0..3).all(|offset| self.peek_at(offset) == '.') && is_blank_or_end(self.peek_at(3))
    }
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub(super) fn is_break_or_end(c: char) -> bool {
    is_break(c) || c == END
}

pub(super) fn is_space_or_end(c: char) -> bool {
    is_break_or_end(c) || c == ' '
}

pub(super) fn is_blank_or_end(c: char) -> bool {
    is_space_or_end(c) || c == '\t'
}

fn is_yaml_character(c: char) -> bool {
    matches!(c,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}'
        | '\u{10000}'..='\u{10ffff}')
}
