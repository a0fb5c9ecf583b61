//! The tokens a document is made of, with the comments that ride on them.

use super::cursor::Mark;
use super::fault::Fault;

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    StreamStart,
    StreamEnd,
    Directive(Directive),
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowMappingStart,
    FlowSequenceEnd,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor,
    Tag,
    Scalar(Scalar),
    Comment,
}

/// A directive, as far as the reference looks at it before it misses the `---` that must follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Directive {
    /// `%YAML`, with the major version in digits.
    Yaml(String),
    /// `%TAG`, with its handle.
    Tag(String),
    /// Any other.
    Unknown,
}

/// A scalar's text, and whether it stood there without quotes or block sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) plain: bool,
}

impl TokenKind {
    /// Returns the name of the token in complaints.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::StreamStart => "<stream start>",
            Self::StreamEnd => "<stream end>",
            Self::Directive(_) => "<directive>",
            Self::DocumentEnd => "<document end>",
            Self::BlockSequenceStart => "<block sequence start>",
            Self::BlockMappingStart => "<block mapping start>",
            Self::BlockEnd => "<block end>",
            Self::FlowSequenceStart => "[",
            Self::FlowMappingStart => "{",
            Self::FlowSequenceEnd => "]",
            Self::FlowMappingEnd => "}",
            Self::BlockEntry => "-",
            Self::FlowEntry => ",",
            Self::Key => "?",
            Self::Value => ":",
            Self::Alias(_) => "<alias>",
            Self::Anchor => "<anchor>",
            Self::Tag => "<tag>",
            Self::Scalar(_) => "<scalar>",
            Self::Comment => "<comment>",
        }
    }
}

/// Which comments ride on a token. Their text is never shown, but two at the same seat crash the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Comments {
    pub(super) after: bool,
    pub(super) before: bool,
}

/// A token and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: Mark,
    pub(super) end: Mark,
    pub(super) comments: Option<Comments>,
}

impl Token {
    pub(super) fn new(kind: TokenKind, start: Mark, end: Mark) -> Self {
        Self { kind, start, end, comments: None }
    }

    /// Puts a comment after the token.
    pub(super) fn comment_after(&mut self) {
        self.comments.get_or_insert_default().after = true;
    }

    /// Puts a comment before the token.
    pub(super) fn comment_before(&mut self) -> Result<(), Fault> {
        let comments = self.comments.get_or_insert_default();
        if comments.before {
            return Err(Fault::crash("AssertionError"));
        }
        comments.before = true;
        Ok(())
    }

    /// Hands the token's comments to `target`.
    pub(super) fn move_comments(&mut self, target: &mut Token) -> Result<(), Fault> {
        if target.kind == TokenKind::StreamEnd {
            return Ok(());
        }
        let Some(comments) = self.comments.take() else { return Ok(()) };
        let seated = target.comments.get_or_insert_default();
        if (comments.after && seated.after) || (comments.before && seated.before) {
            return Err(Fault::crash("NotImplementedError: overlap in comment"));
        }
        seated.after |= comments.after;
        seated.before |= comments.before;
        Ok(())
    }
}
