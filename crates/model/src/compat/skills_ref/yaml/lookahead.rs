//! Taking tokens: how far the scanner runs ahead, and where comments go.
//!
//! strictyaml refuses flow style, anchors and tags at the moment somebody asks for such a token while one is next,
//! so a fault further on that the scanner has already met is told instead.

use super::fault::Fault;
use super::scanner::Scanner;
use super::token::{Token, TokenKind};

impl Scanner {
    /// Tells whether the next token is one that `wanted` holds for.
    pub(super) fn check(&mut self, wanted: impl Fn(&TokenKind) -> bool) -> Result<bool, Fault> {
        self.settle_next()?;
        let Some(token) = self.tokens.front() else { return Ok(false) };
        if !wanted(&token.kind) {
            return Ok(false);
        }
        match token.kind {
            TokenKind::Tag => Err(Fault::since(
                "While scanning",
                token.end,
                "Found disallowed tag tokens (do not specify types in markup)",
                token.start,
            )),
            TokenKind::FlowSequenceStart | TokenKind::FlowMappingStart => Err(Fault::since(
                "While scanning",
                token.start,
                "Found ugly disallowed JSONesque flow mapping \
                 (surround with ' and ' to make text appear literally)",
                token.end,
            )),
            TokenKind::Anchor => Err(Fault::since(
                "While scanning",
                token.start,
                "Found confusing disallowed anchor token \
                 (surround with ' and ' to make text appear literally)",
                token.end,
            )),
            _ => Ok(true),
        }
    }

    /// Tells whether the next token is `kind`.
    pub(super) fn check_kind(&mut self, kind: &TokenKind) -> Result<bool, Fault> {
        self.check(|next| next == kind)
    }

    /// Returns the next token without taking it.
    pub(super) fn peek(&mut self) -> Result<&mut Token, Fault> {
        self.settle_next()?;
        self.tokens.front_mut().ok_or_else(out_of_tokens)
    }

    /// Takes the next token, with the comment that follows it.
    pub(super) fn take(&mut self) -> Result<Token, Fault> {
        self.settle_next()?;
        let Some(token) = self.tokens.front() else { return Err(out_of_tokens()) };
        let may_carry = matches!(
            token.kind,
            TokenKind::Scalar(_) | TokenKind::Value | TokenKind::FlowSequenceEnd | TokenKind::FlowMappingEnd
        );
        let is_scalar = matches!(token.kind, TokenKind::Scalar(_));
        let end_line = token.end.line;
        let mut carries = false;
        if let Some(comment) = self.tokens.get(1).filter(|next| next.kind == TokenKind::Comment)
            && may_carry
            && (is_scalar || comment.start.line == end_line)
        {
            carries = true;
            while self.tokens.get(1).is_some_and(|next| next.kind == TokenKind::Comment) {
                self.tokens.remove(1);
                self.taken += 1;
                self.fetch_more()?;
            }
        }
        self.taken += 1;
        let mut token = self.tokens.pop_front().ok_or_else(out_of_tokens)?;
        if carries {
            token.comment_after();
        }
        Ok(token)
    }

    /// Settles what the next token is, moves the comment before it onto it, and looks one token further for a
    /// comment after it.
    fn settle_next(&mut self) -> Result<(), Fault> {
        while self.needs_more()? {
            self.fetch_more()?;
        }
        let mut comments = 0;
        if self.drop_comment_in_front() {
            comments += 1;
        } else if self.tokens.is_empty() {
            return Ok(());
        }
        while self.needs_more()? {
            self.fetch_more()?;
            if self.drop_comment_in_front() {
                comments += 1;
            }
        }
        if comments > 0 {
            match self.tokens.front_mut() {
                Some(token) => token.comment_before()?,
                None => return Err(Fault::crash("IndexError: list index out of range")),
            }
        }
        if !self.done && self.tokens.len() < 2 {
            self.fetch_more()?;
        }
        Ok(())
    }

    fn drop_comment_in_front(&mut self) -> bool {
        let is_comment = self.tokens.front().is_some_and(|token| token.kind == TokenKind::Comment);
        if is_comment {
            self.tokens.pop_front();
            self.taken += 1;
        }
        is_comment
    }
}

fn out_of_tokens() -> Fault {
    Fault::crash("AttributeError: 'NoneType' object has no attribute 'start_mark'")
}
