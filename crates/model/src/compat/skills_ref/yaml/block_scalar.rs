//! Literal (`|`) and folded (`>`) scalars.

use super::cursor::{END, Mark, is_break, is_break_or_end, is_space_or_end};
use super::fault::Fault;
use super::scanner::Scanner;
use super::token::{Scalar, Token, TokenKind};

const CONTEXT: &str = "while scanning a block scalar";

/// What becomes of the line breaks at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Clip,
    Strip,
    Keep,
}

impl Scanner {
    pub(super) fn scan_block_scalar(&mut self) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        let folded = self.cursor.peek() == '>';
        self.cursor.forward();
        let (chomping, increment) = self.scan_block_header(start)?;
        let spaces = self.count_while(|c| c == ' ');
        let has_comment = self.cursor.peek_at(spaces) == '#';
        self.skip_rest_of_line(CONTEXT, start)?;

        let least = usize::try_from(self.indent + 1).unwrap_or(0);
        let (indent, mut breaks, mut end) = match increment {
            None => {
                let (breaks, deepest, end) = self.scan_block_indentation();
                (least.max(deepest), breaks, end)
            }
            Some(increment) => {
                let indent = least.max(1) + increment - 1;
                let (breaks, end) = self.scan_block_breaks(indent);
                (indent, breaks, end)
            }
        };
        let mut text = String::new();
        let mut line_break = None;
        while self.cursor.column() == indent && self.cursor.peek() != END {
            text.push_str(&breaks);
            let was_flush = !matches!(self.cursor.peek(), ' ' | '\t');
            let length = self.count_while(|c| !is_break_or_end(c));
            text.push_str(&self.cursor.take(length));
            line_break = self.cursor.line_break();
            (breaks, end) = self.scan_block_breaks(indent);
            let may_be_outermost = least == 0 && increment.is_none();
            if may_be_outermost && self.cursor.column() == 0 && self.cursor.at_document_end() {
                break;
            }
            if self.cursor.column() != indent || self.cursor.peek() == END {
                break;
            }
            let is_flush = !matches!(self.cursor.peek(), ' ' | '\t');
            if folded && line_break == Some('\n') && was_flush && is_flush {
                if breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.extend(line_break);
            }
        }
        if chomping != Chomping::Strip {
            text.extend(line_break);
        }
        let mut leaves_breaks = false;
        if chomping == Chomping::Keep {
            text.push_str(&breaks);
        } else {
            leaves_breaks = !breaks.is_empty();
        }
        let mut token = Token::new(TokenKind::Scalar(Scalar { text, plain: false }), start, end);
        if has_comment {
            token.comment_before()?;
        }
        if leaves_breaks {
            while self.skip_to_next_token().is_some() {}
            token.comment_after();
        }
        Ok(token)
    }

    /// Reads the chomping sign and the indentation digit, in either order.
    fn scan_block_header(&mut self, start: Mark) -> Result<(Chomping, Option<usize>), Fault> {
        let mut chomping = self.scan_chomping();
        let mut increment = None;
        if let Some(digit) = self.cursor.peek().to_digit(10) {
            if digit == 0 {
                let problem = "expected indentation indicator in the range 1-9, but found 0";
                return Err(Fault::since(CONTEXT, start, problem, self.cursor.mark()));
            }
            increment = usize::try_from(digit).ok();
            self.cursor.forward();
            chomping = chomping.or_else(|| self.scan_chomping());
        }
        if !is_space_or_end(self.cursor.peek()) {
            return Err(self.unexpected(CONTEXT, start, "chomping or indentation indicators"));
        }
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn scan_chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.cursor.peek() {
            '+' => Chomping::Keep,
            '-' => Chomping::Strip,
            _ => return None,
        };
        self.cursor.forward();
        Some(chomping)
    }

    /// Reads blank lines up to the first text, and returns them with the deepest column any of them reaches.
    fn scan_block_indentation(&mut self) -> (String, usize, Mark) {
        let mut breaks = String::new();
        let mut deepest = 0;
        let mut end = self.cursor.mark();
        loop {
            if self.cursor.peek() == ' ' {
                self.cursor.forward();
                deepest = deepest.max(self.cursor.column());
            } else if let Some(line_break) = self.cursor.line_break() {
                breaks.push(line_break);
                end = self.cursor.mark();
            } else {
                return (breaks, deepest, end);
            }
        }
    }

    /// Reads blank lines and the indentation of the next line.
    fn scan_block_breaks(&mut self, indent: usize) -> (String, Mark) {
        let mut breaks = String::new();
        let mut end = self.cursor.mark();
        self.skip_indentation(indent);
        while is_break(self.cursor.peek()) {
            breaks.extend(self.cursor.line_break());
            end = self.cursor.mark();
            self.skip_indentation(indent);
        }
        (breaks, end)
    }

    fn skip_indentation(&mut self, indent: usize) {
        while self.cursor.column() < indent && self.cursor.peek() == ' ' {
            self.cursor.forward();
        }
    }
}
