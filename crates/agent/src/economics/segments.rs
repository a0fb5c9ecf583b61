//! The segments of a request.

use std::collections::HashMap;
use std::sync::Arc;

use repertoire::tool::Definition;
use repertoire_model::tokens::Tokenizer;
use serde_json::json;

use super::prompt_cache::Segment;
use crate::message::Block;
use crate::request::Request;

/// Makes segments of requests, and counts each text once.
#[derive(Debug)]
pub(super) struct Segments {
    tokenizer: Tokenizer,
    known: HashMap<Arc<str>, Segment>,
}

impl Segments {
    pub(super) fn new(tokenizer: Tokenizer) -> Self {
        Self { tokenizer, known: HashMap::new() }
    }

    /// Returns the segments of a request, and how many of them are tools and system prompt.
    pub(super) fn of(&mut self, request: &Request<'_>) -> (Vec<Segment>, usize) {
        let mut segments: Vec<Segment> =
            request.tools.iter().map(|tool| self.segment(&tool_text(tool))).collect();
        mark_last(&mut segments, request.breakpoints.tools);
        segments.push(self.segment(request.system));
        mark_last(&mut segments, request.breakpoints.system);
        let prefix = segments.len();
        for (position, message) in request.messages.iter().enumerate() {
            segments.extend(message.content.iter().map(|block| self.segment(&block_text(block))));
            mark_last(&mut segments, request.breakpoints.is_at(position));
        }
        (segments, prefix)
    }

    pub(super) fn segment(&mut self, text: &str) -> Segment {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let segment = Segment::new(text, self.tokenizer);
        self.known.insert(text.into(), segment.clone());
        segment
    }
}

fn mark_last(segments: &mut [Segment], is_marked: bool) {
    if let Some(last) = segments.last_mut().filter(|_| is_marked) {
        *last = last.clone().with_breakpoint();
    }
}

fn tool_text(tool: &Definition) -> String {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}).to_string()
}

pub(super) fn block_text(block: &Block) -> String {
    match block {
        Block::Text { text } => text.clone(),
        Block::ToolUse { name, input, .. } => json!({"name": name, "input": input}).to_string(),
        Block::ToolResult { content, .. } => content.clone(),
        Block::Vendor { data, .. } => data.to_string(),
    }
}
