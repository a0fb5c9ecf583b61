//! From characters to tokens: which token starts here, where collections begin and end, what may be a key.

use std::collections::{BTreeMap, VecDeque};

use super::super::python;
use super::cursor::{Cursor, END, Mark, is_blank_or_end, is_break_or_end};
use super::fault::Fault;
use super::token::{Token, TokenKind};

/// How far, in characters, a key may lie before its colon.
const MAX_KEY_REACH: usize = 1024;

/// A token that turns out to be a mapping key if a colon follows on its line.
struct PossibleKey {
    token_number: usize,
    required: bool,
    mark: Mark,
}

/// An unclosed flow collection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Sequence,
    Mapping,
}

/// Makes tokens from characters.
pub(super) struct Scanner {
    pub(super) cursor: Cursor,
    /// The tokens that are made but not yet taken.
    pub(super) tokens: VecDeque<Token>,
    /// How many tokens were taken.
    pub(super) taken: usize,
    /// Whether the end of the stream was met.
    pub(super) done: bool,
    /// The column of the innermost block collection, -1 outside of any.
    pub(super) indent: isize,
    /// Whether a key may start at the cursor.
    pub(super) key_allowed: bool,
    outer_indents: Vec<isize>,
    flow: Vec<Flow>,
    possible_keys: BTreeMap<usize, PossibleKey>,
}

impl Scanner {
    pub(super) fn new(cursor: Cursor) -> Self {
        let mark = cursor.mark();
        Self {
            cursor,
            tokens: VecDeque::from([Token::new(TokenKind::StreamStart, mark, mark)]),
            taken: 0,
            done: false,
            indent: -1,
            key_allowed: true,
            outer_indents: Vec::new(),
            flow: Vec::new(),
            possible_keys: BTreeMap::new(),
        }
    }

    pub(super) fn in_flow(&self) -> bool {
        !self.flow.is_empty()
    }

    /// Tells whether the next token to be taken is not yet settled.
    pub(super) fn needs_more(&mut self) -> Result<bool, Fault> {
        if self.done {
            return Ok(false);
        }
        if self.tokens.is_empty() {
            return Ok(true);
        }
        self.drop_stale_keys()?;
        Ok(self.possible_keys.values().map(|key| key.token_number).min() == Some(self.taken))
    }

    /// Makes at least one more token.
    pub(super) fn fetch_more(&mut self) -> Result<(), Fault> {
        if let Some(comment) = self.skip_to_next_token() {
            self.tokens.push_back(comment);
            return Ok(());
        }
        self.drop_stale_keys()?;
        self.close_blocks_beyond(self.column());
        match self.cursor.peek() {
            END => self.fetch_stream_end(),
            '%' if self.cursor.column() == 0 => self.fetch_directive(),
            '.' if self.cursor.column() == 0 && self.cursor.at_document_end() => self.fetch_document_end(),
            '[' => self.fetch_flow_start(Flow::Sequence),
            '{' => self.fetch_flow_start(Flow::Mapping),
            ']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            '}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            ',' => self.fetch_flow_entry(),
            '-' if is_blank_or_end(self.cursor.peek_at(1)) => self.fetch_block_entry(),
            '?' if self.in_flow() || is_blank_or_end(self.cursor.peek_at(1)) => self.fetch_key(),
            ':' if self.is_value_sign() => self.fetch_value(),
            '*' | '&' => self.fetch_possible_key(Self::scan_anchor),
            '!' => self.fetch_possible_key(Self::scan_tag),
            '|' | '>' if !self.in_flow() => self.fetch_block_scalar(),
            '\'' | '"' => self.fetch_possible_key(Self::scan_flow_scalar),
            c if self.is_plain_start(c) => self.fetch_possible_key(Self::scan_plain),
            c => {
                let problem = format!("found character {} that cannot start any token", python::repr_char(c));
                Err(Fault::in_context("while scanning for the next token", problem, self.cursor.mark()))
            }
        }
    }

    /// Moves to the next token, or returns the comment that stands before it. Blank lines count as comments.
    pub(super) fn skip_to_next_token(&mut self) -> Option<Token> {
        if self.cursor.mark().index == 0 && self.cursor.peek() == '\u{feff}' {
            self.cursor.forward();
        }
        loop {
            self.cursor.skip_while(|c| c == ' ');
            if self.cursor.peek() == '#' {
                let start = self.cursor.mark();
                self.cursor.skip_while(|c| !is_break_or_end(c));
                while self.cursor.line_break().is_some() {}
                self.key_allowed |= !self.in_flow();
                return Some(Token::new(TokenKind::Comment, start, self.cursor.mark()));
            }
            self.cursor.line_break()?;
            self.key_allowed |= !self.in_flow();
            if self.cursor.peek() == '\n' {
                let start = self.cursor.mark();
                // The blank lines take the next line's indentation with them, tabs included.
                while self.cursor.line_break().is_some() || self.cursor.skip_while(is_space_or_tab) > 0 {}
                return Some(Token::new(TokenKind::Comment, start, self.cursor.mark()));
            }
        }
    }

    fn column(&self) -> isize {
        isize::try_from(self.cursor.column()).unwrap_or(isize::MAX)
    }

    fn is_value_sign(&self) -> bool {
        let blank_follows = is_blank_or_end(self.cursor.peek_at(1));
        match self.flow.last() {
            None | Some(Flow::Sequence) => blank_follows,
            Some(Flow::Mapping) => {
                blank_follows || self.tokens.back().is_none_or(|token| token.kind != TokenKind::Value)
            }
        }
    }

    fn is_plain_start(&self, c: char) -> bool {
        let next = self.cursor.peek_at(1);
        match c {
            '-' => !is_blank_or_end(next),
            ':' if self.in_flow() => !matches!(next, ' ' | '\t'),
            '?' | ':' => !self.in_flow() && !is_blank_or_end(next),
            c => !is_blank_or_end(c) && !",[]{}#&*!|>'\"%@`".contains(c),
        }
    }

    // Keys.

    fn drop_stale_keys(&mut self) -> Result<(), Fault> {
        let here = self.cursor.mark();
        let is_stale =
            |key: &PossibleKey| key.mark.line != here.line || here.index - key.mark.index > MAX_KEY_REACH;
        if let Some(key) = self.possible_keys.values().find(|key| is_stale(key) && key.required) {
            return Err(missing_colon(key, here));
        }
        self.possible_keys.retain(|_, key| !is_stale(key));
        Ok(())
    }

    fn save_possible_key(&mut self) -> Result<(), Fault> {
        let required = !self.in_flow() && self.indent == self.column();
        if self.key_allowed {
            self.drop_possible_key()?;
            let token_number = self.taken + self.tokens.len();
            let key = PossibleKey { token_number, required, mark: self.cursor.mark() };
            self.possible_keys.insert(self.flow.len(), key);
        }
        Ok(())
    }

    fn drop_possible_key(&mut self) -> Result<(), Fault> {
        match self.possible_keys.remove(&self.flow.len()) {
            Some(key) if key.required => Err(missing_colon(&key, self.cursor.mark())),
            _ => Ok(()),
        }
    }

    // Indentation.

    fn close_blocks_beyond(&mut self, column: isize) {
        if self.in_flow() {
            return;
        }
        let mark = self.cursor.mark();
        while self.indent > column {
            self.indent = self.outer_indents.pop().unwrap_or(-1);
            self.tokens.push_back(Token::new(TokenKind::BlockEnd, mark, mark));
        }
    }

    /// Opens a block collection at `column`, and tells whether that was needed.
    fn open_block_at(&mut self, column: isize) -> bool {
        let deeper = self.indent < column;
        if deeper {
            self.outer_indents.push(self.indent);
            self.indent = column;
        }
        deeper
    }

    fn open_block_here(&mut self, kind: TokenKind) {
        if self.open_block_at(self.column()) {
            let mark = self.cursor.mark();
            self.tokens.push_back(Token::new(kind, mark, mark));
        }
    }

    // Tokens.

    /// Adds a token of `length` characters.
    fn push(&mut self, kind: TokenKind, length: usize) {
        let start = self.cursor.mark();
        self.cursor.forward_by(length);
        self.tokens.push_back(Token::new(kind, start, self.cursor.mark()));
    }

    fn leave_document(&mut self) -> Result<(), Fault> {
        self.close_blocks_beyond(-1);
        self.drop_possible_key()?;
        self.key_allowed = false;
        Ok(())
    }

    fn fetch_stream_end(&mut self) -> Result<(), Fault> {
        self.leave_document()?;
        self.possible_keys.clear();
        self.push(TokenKind::StreamEnd, 0);
        self.done = true;
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), Fault> {
        self.leave_document()?;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_document_end(&mut self) -> Result<(), Fault> {
        self.leave_document()?;
        self.push(TokenKind::DocumentEnd, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, flow: Flow) -> Result<(), Fault> {
        self.save_possible_key()?;
        self.flow.push(flow);
        self.key_allowed = true;
        let kind = match flow {
            Flow::Sequence => TokenKind::FlowSequenceStart,
            Flow::Mapping => TokenKind::FlowMappingStart,
        };
        self.push(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind) -> Result<(), Fault> {
        self.drop_possible_key()?;
        // A bracket that closes nothing is left for the composer to refuse.
        self.flow.pop();
        self.key_allowed = false;
        self.push(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Fault> {
        self.key_allowed = true;
        self.drop_possible_key()?;
        self.push(TokenKind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Fault> {
        if !self.in_flow() {
            self.require_key_allowed("sequence entries are not allowed here")?;
            self.open_block_here(TokenKind::BlockSequenceStart);
        }
        self.key_allowed = true;
        self.drop_possible_key()?;
        self.push(TokenKind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Fault> {
        if !self.in_flow() {
            self.require_key_allowed("mapping keys are not allowed here")?;
            self.open_block_here(TokenKind::BlockMappingStart);
        }
        self.key_allowed = !self.in_flow();
        self.drop_possible_key()?;
        self.push(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Fault> {
        if let Some(key) = self.possible_keys.remove(&self.flow.len()) {
            let position = key.token_number.saturating_sub(self.taken).min(self.tokens.len());
            self.tokens.insert(position, Token::new(TokenKind::Key, key.mark, key.mark));
            let column = isize::try_from(key.mark.column).unwrap_or(isize::MAX);
            if !self.in_flow() && self.open_block_at(column) {
                self.tokens.insert(position, Token::new(TokenKind::BlockMappingStart, key.mark, key.mark));
            }
            self.key_allowed = false;
        } else {
            if !self.in_flow() {
                self.require_key_allowed("mapping values are not allowed here")?;
                self.open_block_here(TokenKind::BlockMappingStart);
            }
            self.key_allowed = !self.in_flow();
            self.drop_possible_key()?;
        }
        self.push(TokenKind::Value, 1);
        Ok(())
    }

    fn fetch_possible_key(&mut self, scan: fn(&mut Self) -> Result<Token, Fault>) -> Result<(), Fault> {
        self.save_possible_key()?;
        self.key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self) -> Result<(), Fault> {
        self.key_allowed = true;
        self.drop_possible_key()?;
        let token = self.scan_block_scalar()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn require_key_allowed(&self, problem: &'static str) -> Result<(), Fault> {
        if self.key_allowed { Ok(()) } else { Err(Fault::new(problem, self.cursor.mark())) }
    }
}

fn missing_colon(key: &PossibleKey, here: Mark) -> Fault {
    Fault::since("while scanning a simple key", key.mark, "could not find expected ':'", here)
}

fn is_space_or_tab(c: char) -> bool {
    matches!(c, ' ' | '\t')
}
