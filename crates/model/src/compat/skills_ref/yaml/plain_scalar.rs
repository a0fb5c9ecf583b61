//! Scalars without quotes.

use super::cursor::{is_blank_or_end, is_break};
use super::fault::Fault;
use super::scanner::Scanner;
use super::token::{Scalar, Token, TokenKind};

impl Scanner {
    pub(super) fn scan_plain(&mut self) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        let mut end = start;
        let indent = usize::try_from(self.indent + 1).unwrap_or(0);
        let mut text = String::new();
        let mut gap = String::new();
        let mut trailing_breaks = false;
        while self.cursor.peek() != '#' {
            let length = self.plain_word_length();
            if length == 0 {
                break;
            }
            self.key_allowed = false;
            text.push_str(&gap);
            text.push_str(&self.cursor.take(length));
            end = self.cursor.mark();
            gap = self.scan_plain_gap();
            trailing_breaks = gap.starts_with('\n');
            let outdented = !self.in_flow() && self.cursor.column() < indent;
            if gap.is_empty() || self.cursor.peek() == '#' || outdented {
                break;
            }
        }
        let mut token = Token::new(TokenKind::Scalar(Scalar { text, plain: true }), start, end);
        if trailing_breaks {
            token.comment_after();
        }
        Ok(token)
    }

    /// Returns how many characters belong to the word at the cursor.
    fn plain_word_length(&self) -> usize {
        let mut length = 0;
        loop {
            let c = self.cursor.peek_at(length);
            let ends = match c {
                ':' => is_blank_or_end(self.cursor.peek_at(length + 1)),
                ',' | '[' | ']' | '{' | '}' => self.in_flow(),
                c => is_blank_or_end(c),
            };
            if ends {
                return length;
            }
            length += 1;
        }
    }

    /// Reads the blanks after a word and returns what they are worth if another word follows.
    fn scan_plain_gap(&mut self) -> String {
        let length = self.count_while(|c| c == ' ');
        let spaces = self.cursor.take(length);
        let Some(first) = self.cursor.line_break() else { return spaces };
        self.key_allowed = true;
        let mut gap = String::new();
        if first != '\n' {
            gap.push(first);
        }
        let mut further = 0;
        loop {
            if self.cursor.at_document_end() {
                return String::new();
            }
            self.cursor.skip_while(|c| c == ' ');
            if !is_break(self.cursor.peek()) {
                break;
            }
            gap.extend(self.cursor.line_break());
            further += 1;
        }
        if first == '\n' && further == 0 {
            gap.push(' ');
        }
        gap
    }
}
