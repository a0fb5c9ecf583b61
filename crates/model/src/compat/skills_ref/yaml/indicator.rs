//! Directives, anchors, aliases and tags. None of them survives, but each may be malformed in its own way first.

use super::super::python;
use super::cursor::{Mark, is_blank_or_end, is_break_or_end, is_space_or_end};
use super::fault::Fault;
use super::scanner::Scanner;
use super::token::{Directive, Token, TokenKind};

impl Scanner {
    pub(super) fn scan_anchor(&mut self) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        let is_alias = self.cursor.peek() == '*';
        let context = if is_alias { "while scanning an alias" } else { "while scanning an anchor" };
        self.cursor.forward();
        let length = self.count_while(is_anchor_character);
        let name = self.cursor.take(length);
        let next = self.cursor.peek();
        if length == 0 || !(is_blank_or_end(next) || "?:,[]{}%@`".contains(next)) {
            return Err(self.unexpected(context, start, "alphabetic or numeric character"));
        }
        let kind = if is_alias { TokenKind::Alias(name) } else { TokenKind::Anchor };
        Ok(Token::new(kind, start, self.cursor.mark()))
    }

    pub(super) fn scan_tag(&mut self) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        let next = self.cursor.peek_at(1);
        if next == '<' {
            self.cursor.forward_by(2);
            self.scan_tag_uri(start, &TAG)?;
            if self.cursor.peek() != '>' {
                return Err(self.unexpected("while parsing a tag", start, "'>'"));
            }
            self.cursor.forward();
        } else if is_blank_or_end(next) {
            self.cursor.forward();
        } else {
            let mut length = 1;
            while !is_space_or_end(self.cursor.peek_at(length)) && self.cursor.peek_at(length) != '!' {
                length += 1;
            }
            if self.cursor.peek_at(length) == '!' {
                self.scan_tag_handle(start, &TAG)?;
            } else {
                self.cursor.forward();
            }
            self.scan_tag_uri(start, &TAG)?;
        }
        if !is_space_or_end(self.cursor.peek()) {
            return Err(self.unexpected(TAG.scanning, start, "' '"));
        }
        Ok(Token::new(TokenKind::Tag, start, self.cursor.mark()))
    }

    pub(super) fn scan_directive(&mut self) -> Result<Token, Fault> {
        let start = self.cursor.mark();
        self.cursor.forward();
        let length = self.count_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(c));
        let name = self.cursor.take(length);
        if length == 0 || !is_space_or_end(self.cursor.peek()) {
            return Err(self.unexpected(DIRECTIVE.scanning, start, "alphabetic or numeric character"));
        }
        let directive = match name.as_str() {
            "YAML" => Directive::Yaml(self.scan_yaml_version(start)?),
            "TAG" => {
                self.cursor.skip_while(|c| c == ' ');
                let handle = self.scan_tag_handle(start, &DIRECTIVE)?;
                if self.cursor.peek() != ' ' {
                    return Err(self.unexpected(DIRECTIVE.scanning, start, "' '"));
                }
                self.cursor.skip_while(|c| c == ' ');
                self.scan_tag_uri(start, &DIRECTIVE)?;
                if !is_space_or_end(self.cursor.peek()) {
                    return Err(self.unexpected(DIRECTIVE.scanning, start, "' '"));
                }
                Directive::Tag(handle)
            }
            _ => Directive::Unknown,
        };
        let end = self.cursor.mark();
        if directive == Directive::Unknown {
            self.cursor.skip_while(|c| !is_break_or_end(c));
        }
        self.skip_rest_of_line(DIRECTIVE.scanning, start)?;
        Ok(Token::new(TokenKind::Directive(directive), start, end))
    }

    /// Moves past spaces, a comment and a line break, and refuses anything else on the line.
    pub(super) fn skip_rest_of_line(&mut self, context: &'static str, start: Mark) -> Result<(), Fault> {
        self.cursor.skip_while(|c| c == ' ');
        if self.cursor.peek() == '#' {
            self.cursor.skip_while(|c| !is_break_or_end(c));
        }
        if !is_break_or_end(self.cursor.peek()) {
            return Err(self.unexpected(context, start, "a comment or a line break"));
        }
        self.cursor.line_break();
        Ok(())
    }

    /// Returns the fault that something else than `expected` stands at the cursor.
    pub(super) fn unexpected(&self, context: &'static str, start: Mark, expected: &str) -> Fault {
        let found = python::repr_char(self.cursor.peek());
        Fault::since(context, start, format!("expected {expected}, but found {found}"), self.cursor.mark())
    }

    /// Returns how many of the next characters `wanted` holds for.
    pub(super) fn count_while(&self, wanted: impl Fn(char) -> bool) -> usize {
        (0..).take_while(|&offset| wanted(self.cursor.peek_at(offset))).count()
    }

    fn scan_yaml_version(&mut self, start: Mark) -> Result<String, Fault> {
        self.cursor.skip_while(|c| c == ' ');
        let major = self.scan_yaml_number(start)?;
        if self.cursor.peek() != '.' {
            return Err(self.unexpected(DIRECTIVE.scanning, start, "a digit or '.'"));
        }
        self.cursor.forward();
        self.scan_yaml_number(start)?;
        if !is_space_or_end(self.cursor.peek()) {
            return Err(self.unexpected(DIRECTIVE.scanning, start, "a digit or ' '"));
        }
        Ok(major)
    }

    fn scan_yaml_number(&mut self, start: Mark) -> Result<String, Fault> {
        let length = self.count_while(|c| c.is_ascii_digit());
        if length == 0 {
            return Err(self.unexpected(DIRECTIVE.scanning, start, "a digit"));
        }
        Ok(self.cursor.take(length))
    }

    fn scan_tag_handle(&mut self, start: Mark, place: &Place) -> Result<String, Fault> {
        if self.cursor.peek() != '!' {
            return Err(self.unexpected(place.scanning, start, "'!'"));
        }
        let mut length = 1;
        if self.cursor.peek_at(1) != ' ' {
            while matches!(self.cursor.peek_at(length), '0'..='9' | 'A'..='Z' | 'a'..='z' | '-' | '_') {
                length += 1;
            }
            if self.cursor.peek_at(length) != '!' {
                self.cursor.forward_by(length);
                return Err(self.unexpected(place.scanning, start, "'!'"));
            }
            length += 1;
        }
        Ok(self.cursor.take(length))
    }

    fn scan_tag_uri(&mut self, start: Mark, place: &Place) -> Result<(), Fault> {
        let mut is_empty = true;
        loop {
            match self.cursor.peek() {
                '%' => self.scan_uri_escapes(start, place)?,
                c if c.is_ascii_alphanumeric() || "-;/?:@&=+$,_.!~*'()[]#".contains(c) => {
                    self.cursor.forward();
                }
                _ if is_empty => return Err(self.unexpected(place.parsing, start, "URI")),
                _ => return Ok(()),
            }
            is_empty = false;
        }
    }

    fn scan_uri_escapes(&mut self, start: Mark, place: &Place) -> Result<(), Fault> {
        let mark = self.cursor.mark();
        let mut bytes = Vec::new();
        while self.cursor.peek() == '%' {
            self.cursor.forward();
            let mut byte = 0;
            for offset in 0..2 {
                let c = self.cursor.peek_at(offset);
                let Some(digit) = c.to_digit(16) else {
                    let found = python::repr_char(c);
                    let problem =
                        format!("expected URI escape sequence of 2 hexdecimal numbers, but found {found}");
                    return Err(Fault::since(place.scanning, start, problem, self.cursor.mark()));
                };
                byte = byte << 4 | digit as u8;
            }
            bytes.push(byte);
            self.cursor.forward_by(2);
        }
        match python::decode_utf8(&bytes) {
            Ok(_) => Ok(()),
            Err(problem) => Err(Fault::since(place.scanning, start, problem, mark)),
        }
    }
}

/// Where a handle or URI stands, in the words of complaints.
struct Place {
    scanning: &'static str,
    parsing: &'static str,
}

const TAG: Place = Place { scanning: "while scanning a tag", parsing: "while parsing a tag" };
const DIRECTIVE: Place =
    Place { scanning: "while scanning a directive", parsing: "while parsing a directive" };

fn is_anchor_character(c: char) -> bool {
    !matches!(c, ',' | '[' | ']' | '{' | '}' | '\u{feff}' | '\0'..=' ' | '\u{7f}'..='\u{9f}')
}
