//! From tokens to nodes: the grammar of block YAML.

use super::MAX_DEPTH;
use super::cursor::Mark;
use super::fault::Fault;
use super::node::Node;
use super::scanner::Scanner;
use super::token::{Directive, Token, TokenKind};

/// Whether `- ` at the mapping's own column may start the node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indentless {
    Allowed,
    Refused,
}

/// Makes nodes from tokens.
pub(super) struct Composer {
    scanner: Scanner,
    depth: usize,
}

impl Composer {
    pub(super) fn new(scanner: Scanner) -> Self {
        Self { scanner, depth: 0 }
    }

    pub(super) fn buffer(&self) -> &[char] {
        self.scanner.cursor.buffer()
    }

    /// Returns the only document of the stream, `None` when the stream is empty.
    pub(super) fn document(&mut self) -> Result<Option<Node>, Fault> {
        let mut stream_start = self.scanner.take()?;
        self.hand_comments_on(&mut stream_start)?;
        if self.at_stream_end()? {
            return Ok(None);
        }
        let root = self.node(Indentless::Refused)?;
        self.scanner.peek()?;
        if self.scanner.check_kind(&TokenKind::DocumentEnd)? {
            self.scanner.take()?;
        }
        if self.at_stream_end()? {
            return Ok(Some(root));
        }
        let context = "expected a single document in the stream";
        let mark = self.scanner.peek()?.start;
        Err(Fault::since(context, root.start(), "but found another document", mark))
    }

    /// Tells whether the stream ends here, and refuses directives: the `---` that they need cannot come.
    fn at_stream_end(&mut self) -> Result<bool, Fault> {
        let is_end_or_directive =
            |kind: &TokenKind| matches!(kind, TokenKind::Directive(_) | TokenKind::StreamEnd);
        if !self.scanner.check(is_end_or_directive)? {
            self.scanner.peek()?;
            return Ok(false);
        }
        if self.scanner.check_kind(&TokenKind::StreamEnd)? {
            return Ok(true);
        }
        self.scanner.peek()?;
        let mut has_version = false;
        let mut handles = Vec::new();
        while self.scanner.check(|kind| matches!(kind, TokenKind::Directive(_)))? {
            let token = self.scanner.take()?;
            let problem = match token.kind {
                TokenKind::Directive(Directive::Yaml(_)) if has_version => {
                    "found duplicate YAML directive".to_owned()
                }
                TokenKind::Directive(Directive::Yaml(major)) => {
                    has_version = true;
                    if major.trim_start_matches('0') == "1" {
                        continue;
                    }
                    "found incompatible YAML document (version 1.* is required)".to_owned()
                }
                TokenKind::Directive(Directive::Tag(handle)) => {
                    if !handles.contains(&handle) {
                        handles.push(handle);
                        continue;
                    }
                    format!("duplicate tag handle '{handle}'")
                }
                _ => continue,
            };
            return Err(Fault::new(problem, token.start));
        }
        let token = self.scanner.peek()?;
        let problem = format!("expected '<document start>', but found '{}'", token.kind.name());
        Err(Fault::new(problem, token.start))
    }

    fn node(&mut self, indentless: Indentless) -> Result<Node, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::crash("RecursionError: maximum recursion depth exceeded"));
        }
        self.depth += 1;
        let node = self.node_within_depth(indentless);
        self.depth -= 1;
        node
    }

    fn node_within_depth(&mut self, indentless: Indentless) -> Result<Node, Fault> {
        if self.scanner.check(|kind| matches!(kind, TokenKind::Alias(_)))? {
            let token = self.scanner.take()?;
            let TokenKind::Alias(name) = &token.kind else { return Err(missing_content(&token)) };
            // There are no anchors, so there is nothing an alias could name.
            let problem = format!("found undefined alias {}", super::super::python::repr(name));
            return Err(Fault::new(problem, token.start));
        }
        // These never answer yes: asking for a refused token is what refuses it.
        self.scanner.check_kind(&TokenKind::Anchor)?;
        self.scanner.check_kind(&TokenKind::Tag)?;
        let start = self.scanner.peek()?.start;
        if indentless == Indentless::Allowed && self.scanner.check_kind(&TokenKind::BlockEntry)? {
            if let Some(comments) = &mut self.scanner.peek()?.comments {
                comments.after = false;
            }
            return self.indentless_sequence(start);
        }
        if self.scanner.check(|kind| matches!(kind, TokenKind::Scalar(_)))? {
            let token = self.scanner.take()?;
            let end = token.end;
            return match token.kind {
                TokenKind::Scalar(scalar) => Ok(Node::Scalar { scalar, start, end }),
                _ => Err(missing_content(&token)),
            };
        }
        self.scanner.check_kind(&TokenKind::FlowSequenceStart)?;
        self.scanner.check_kind(&TokenKind::FlowMappingStart)?;
        if self.scanner.check_kind(&TokenKind::BlockSequenceStart)? {
            return self.sequence(start);
        }
        if self.scanner.check_kind(&TokenKind::BlockMappingStart)? {
            return self.mapping(start);
        }
        Err(missing_content(self.scanner.peek()?))
    }

    fn sequence(&mut self, start: Mark) -> Result<Node, Fault> {
        let opening = self.scanner.take()?;
        let mut items = Vec::new();
        while self.scanner.check_kind(&TokenKind::BlockEntry)? {
            let mut entry = self.scanner.take()?;
            self.hand_comments_on(&mut entry)?;
            let is_empty = |kind: &TokenKind| matches!(kind, TokenKind::BlockEntry | TokenKind::BlockEnd);
            items.push(match self.scanner.check(is_empty)? {
                true => Node::empty(entry.end),
                false => self.node(Indentless::Refused)?,
            });
        }
        self.require_block_end("while parsing a block collection", opening.start)?;
        self.scanner.take()?;
        Ok(Node::Sequence { items, start })
    }

    fn indentless_sequence(&mut self, start: Mark) -> Result<Node, Fault> {
        let mut items = Vec::new();
        while self.scanner.check_kind(&TokenKind::BlockEntry)? {
            let mut entry = self.scanner.take()?;
            self.hand_comments_on(&mut entry)?;
            let is_empty = |kind: &TokenKind| *kind == TokenKind::BlockEntry || ends_mapping_part(kind);
            items.push(match self.scanner.check(is_empty)? {
                true => Node::empty(entry.end),
                false => self.node(Indentless::Refused)?,
            });
        }
        self.scanner.peek()?;
        Ok(Node::Sequence { items, start })
    }

    fn mapping(&mut self, start: Mark) -> Result<Node, Fault> {
        let opening = self.scanner.take()?;
        let mut pairs = Vec::new();
        while let Some(key) = self.mapping_key()? {
            let value = self.mapping_value()?;
            pairs.push((key, value));
        }
        self.require_block_end("while parsing a block mapping", opening.start)?;
        let mut closing = self.scanner.take()?;
        self.hand_comments_on(&mut closing)?;
        Ok(Node::Mapping { pairs, start, end: closing.end })
    }

    fn mapping_key(&mut self) -> Result<Option<Node>, Fault> {
        if self.scanner.check_kind(&TokenKind::Key)? {
            let mut sign = self.scanner.take()?;
            self.hand_comments_on(&mut sign)?;
            if self.scanner.check(ends_mapping_part)? {
                return Ok(Some(Node::empty(sign.end)));
            }
            return self.node(Indentless::Allowed).map(Some);
        }
        if self.scanner.check_kind(&TokenKind::Value)? {
            return Ok(Some(Node::empty(self.scanner.peek()?.start)));
        }
        Ok(None)
    }

    fn mapping_value(&mut self) -> Result<Node, Fault> {
        if !self.scanner.check_kind(&TokenKind::Value)? {
            return Ok(Node::empty(self.scanner.peek()?.start));
        }
        let mut sign = self.scanner.take()?;
        // A comment stays on the colon when the value is empty and another key follows.
        if self.scanner.check_kind(&TokenKind::Value)? || !self.scanner.check_kind(&TokenKind::Key)? {
            self.hand_comments_on(&mut sign)?;
        }
        if !self.scanner.check(ends_mapping_part)? {
            return self.node(Indentless::Allowed);
        }
        if sign.comments.is_some() {
            return Ok(Node::empty(sign.end));
        }
        let next = self.scanner.peek()?;
        if let Some(comments) = &mut next.comments {
            comments.after = false;
        }
        Ok(Node::empty(next.end))
    }

    fn hand_comments_on(&mut self, token: &mut Token) -> Result<(), Fault> {
        token.move_comments(self.scanner.peek()?)
    }

    fn require_block_end(&mut self, context: &'static str, opening: Mark) -> Result<(), Fault> {
        if self.scanner.check_kind(&TokenKind::BlockEnd)? {
            return Ok(());
        }
        let token = self.scanner.peek()?;
        let problem = format!("expected <block end>, but found '{}'", token.kind.name());
        Err(Fault::since(context, opening, problem, token.start))
    }
}

fn ends_mapping_part(kind: &TokenKind) -> bool {
    matches!(kind, TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd)
}

fn missing_content(token: &Token) -> Fault {
    let problem = format!("expected the node content, but found '{}'", token.kind.name());
    Fault::in_context("while parsing a block node", problem, token.start)
}
