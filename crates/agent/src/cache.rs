//! The places in a request up to which a service is asked to cache it.

use crate::message::{Block, Message, Role};

/// The ends of the parts of a request that the service is to cache: at most four.
///
/// A service reads from its cache up to the last breakpoint whose prefix it has seen. The tools and the
/// system prompt stay the same for the whole conversation. The end of the previous turn was written to the
/// cache by the previous request, and the end of the latest one is written for the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Breakpoints {
    /// True if there is a breakpoint behind the tools.
    pub tools: bool,
    /// True if there is a breakpoint behind the system prompt.
    pub system: bool,
    /// The position of the last message of the previous request.
    pub previous_turn: Option<usize>,
    /// The position of the last message.
    pub latest_turn: Option<usize>,
}

impl Breakpoints {
    /// Returns the breakpoints of a request with so many tools, this system prompt and these messages.
    pub fn of(tools: usize, system: &str, messages: &[Message]) -> Self {
        let mut ends = messages.iter().enumerate().rev().filter(|(_, message)| is_end(message));
        let latest_turn = ends.next().map(|(position, _)| position);
        let previous_turn = ends.next().map(|(position, _)| position);
        Self { tools: tools > 0, system: !system.is_empty(), previous_turn, latest_turn }
    }

    /// Returns whether the message at `position` ends with a breakpoint.
    pub fn is_at(&self, position: usize) -> bool {
        self.previous_turn == Some(position) || self.latest_turn == Some(position)
    }
}

/// Returns whether a request may have ended with the message, and a breakpoint may stand there: services
/// accept none at a blank text.
fn is_end(message: &Message) -> bool {
    let is_marked = match message.content.last() {
        Some(Block::Text { text }) => !text.trim().is_empty(),
        Some(Block::ToolResult { .. }) => true,
        _ => false,
    };
    message.role == Role::User && is_marked
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assistant(text: &str) -> Message {
        Message { role: Role::Assistant, content: vec![Block::text(text)] }
    }

    fn result(id: &str) -> Message {
        let block =
            Block::ToolResult { tool_use_id: id.to_owned(), content: "done".to_owned(), is_error: false };
        Message { role: Role::User, content: vec![block] }
    }

    #[test]
    fn an_empty_request_has_none() {
        assert_eq!(Breakpoints::of(0, "", &[]), Breakpoints::default());
    }

    #[test]
    fn the_first_request_has_no_previous_turn() {
        let breakpoints = Breakpoints::of(2, "system", &[Message::user("hello")]);
        assert_eq!(
            breakpoints,
            Breakpoints { tools: true, system: true, previous_turn: None, latest_turn: Some(0) }
        );
    }

    #[test]
    fn the_previous_turn_is_where_the_previous_request_ended() {
        let mut messages = vec![Message::user("hello")];
        for turn in 0..5 {
            let before = Breakpoints::of(1, "system", &messages);
            let call = Block::ToolUse { id: turn.to_string(), name: "t".to_owned(), input: json!({}) };
            messages.push(Message { role: Role::Assistant, content: vec![call] });
            messages.push(result(&turn.to_string()));
            let after = Breakpoints::of(1, "system", &messages);
            assert_eq!(after.previous_turn, before.latest_turn);
            assert_eq!(after.latest_turn, Some(messages.len() - 1));
        }
    }

    #[test]
    fn nothing_is_marked_at_empty_texts_and_messages_of_the_model() {
        let messages = [Message::user("hello"), assistant("hi"), Message::user("")];
        let breakpoints = Breakpoints::of(0, "", &messages);
        assert_eq!((breakpoints.previous_turn, breakpoints.latest_turn), (None, Some(0)));
        assert!(breakpoints.is_at(0) && !breakpoints.is_at(1));
    }
}
