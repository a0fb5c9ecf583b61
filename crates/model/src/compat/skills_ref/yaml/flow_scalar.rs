//! Scalars in single and double quotes.

use super::super::python;
use super::cursor::{END, Mark, is_blank_or_end, is_break};
use super::fault::Fault;
use super::scanner::Scanner;
use super::token::{Scalar, Token, TokenKind};

const DOUBLE_CONTEXT: &str = "while scanning a double-quoted scalar";
const QUOTED_CONTEXT: &str = "while scanning a quoted scalar";

impl Scanner {
    pub(super) fn scan_flow_scalar(&mut self) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        let quote = self.cursor.peek();
        let mut text = String::new();
        self.cursor.forward();
        self.scan_words(quote, start, &mut text)?;
        while self.cursor.peek() != quote {
            self.scan_gap(start, &mut text)?;
            self.scan_words(quote, start, &mut text)?;
        }
        self.cursor.forward();
        let kind = TokenKind::Scalar(Scalar { text, plain: false });
        Ok(Token::new(kind, start, self.cursor.mark()))
    }

    /// Reads up to the next blank or the closing quote.
    fn scan_words(&mut self, quote: char, start: Mark, text: &mut String) -> Result<(), Fault> {
        loop {
            match self.cursor.peek() {
                c if is_blank_or_end(c) => return Ok(()),
                '\'' if quote == '\'' => {
                    if self.cursor.peek_at(1) != '\'' {
                        return Ok(());
                    }
                    text.push('\'');
                    self.cursor.forward_by(2);
                }
                '"' if quote == '"' => return Ok(()),
                '\\' if quote == '"' => {
                    self.cursor.forward();
                    self.scan_escape(start, text)?;
                }
                c => {
                    text.push(c);
                    self.cursor.forward();
                }
            }
        }
    }

    /// Reads what follows a backslash.
    fn scan_escape(&mut self, start: Mark, text: &mut String) -> Result<(), Fault> {
        let c = self.cursor.peek();
        if let Some(replacement) = replacement(c) {
            text.push(replacement);
            self.cursor.forward();
            return Ok(());
        }
        let digits = match c {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            c if is_break(c) => {
                self.cursor.line_break();
                return self.scan_breaks(start, text).map(drop);
            }
            c => {
                let problem = format!("found unknown escape character {}", python::repr_char(c));
                return Err(Fault::since(DOUBLE_CONTEXT, start, problem, self.cursor.mark()));
            }
        };
        self.cursor.forward();
        let mut code: u32 = 0;
        for offset in 0..digits {
            let c = self.cursor.peek_at(offset);
            let Some(digit) = c.to_digit(16) else {
                let found = python::repr_char(c);
                let problem =
                    format!("expected escape sequence of {digits} hexdecimal numbers, but found {found}");
                return Err(Fault::since(DOUBLE_CONTEXT, start, problem, self.cursor.mark()));
            };
            code = code << 4 | digit;
        }
        text.push(python::chr(code).map_err(Fault::crash)?);
        self.cursor.forward_by(digits);
        Ok(())
    }

    /// Reads blanks and line breaks between words.
    fn scan_gap(&mut self, start: Mark, text: &mut String) -> Result<(), Fault> {
        let length = self.count_while(|c| matches!(c, ' ' | '\t'));
        let blanks = self.cursor.take(length);
        if self.cursor.peek() == END {
            let problem = "found unexpected end of stream";
            return Err(Fault::since(QUOTED_CONTEXT, start, problem, self.cursor.mark()));
        }
        let Some(line_break) = self.cursor.line_break() else {
            text.push_str(&blanks);
            return Ok(());
        };
        if line_break != '\n' {
            text.push(line_break);
        }
        let further = self.scan_breaks(start, text)?;
        if line_break == '\n' && further == 0 {
            text.push(' ');
        }
        Ok(())
    }

    /// Reads blank lines and the blanks before the next word, and returns how many line breaks there were.
    fn scan_breaks(&mut self, start: Mark, text: &mut String) -> Result<usize, Fault> {
        let mut count = 0;
        loop {
            // Quotes may hold lines of any indentation, but not the end of the document.
            if self.cursor.at_document_end() {
                let problem = "found unexpected document separator";
                return Err(Fault::since(QUOTED_CONTEXT, start, problem, self.cursor.mark()));
            }
            self.cursor.skip_while(|c| matches!(c, ' ' | '\t'));
            let Some(line_break) = self.cursor.line_break() else { return Ok(count) };
            text.push(line_break);
            count += 1;
        }
    }
}

/// Returns the character that a one-letter escape stands for.
fn replacement(c: char) -> Option<char> {
    Some(match c {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        ' ' | '"' | '/' | '\\' => c,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return None,
    })
}
