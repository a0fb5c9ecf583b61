//! The messages of a conversation, in a form that belongs to no vendor.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::ModelApi;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or the program that answers tool calls.
    User,
    /// The model.
    Assistant,
}

/// A message of a conversation.
///
/// Its JSON is that of Anthropic's messages, which [`Session::observe`](repertoire::Session::observe) reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// Its parts, in order.
    pub content: Vec<Block>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// A call of a tool.
    ToolUse {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments. What the model wrote is kept as a string where it is not JSON.
        input: Value,
    },
    /// The answer to a call.
    ToolResult {
        /// The id of the call.
        tool_use_id: String,
        /// The text of the answer.
        content: String,
        /// `true` if the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// A part that only its vendor understands, such as encrypted reasoning. It is sent back as it came.
    Vendor {
        /// The service that it came from; others do not get it.
        provider: ModelApi,
        /// The part as the service sent it.
        data: Value,
    },
}

/// A call of a tool by the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call<'a> {
    /// The id of the call.
    pub id: &'a str,
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments.
    pub input: &'a Value,
}

impl Message {
    /// Returns a message of the user with one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, content: vec![Block::text(text)] }
    }

    /// Returns the texts of the message, joined.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the calls in the message.
    pub fn calls(&self) -> impl Iterator<Item = Call<'_>> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolUse { id, name, input } => Some(Call { id, name, input }),
            _ => None,
        })
    }
}

impl Block {
    /// Returns a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}
