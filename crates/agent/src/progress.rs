//! Reports on a conversation while it goes on.

use std::time::Duration;

use serde_json::Value;

use crate::client::ClientError;
use crate::usage::TokenUsage;

/// Something that happened in a conversation.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// The model wrote a piece of text.
    Text(&'a str),
    /// The model calls a tool.
    Call {
        /// The name of the tool.
        name: &'a str,
        /// The arguments.
        input: &'a Value,
    },
    /// The call of a tool was answered.
    Answer {
        /// The name of the tool.
        name: &'a str,
        /// The text of the answer.
        text: &'a str,
        /// `true` if the call failed.
        is_error: bool,
    },
    /// The model's answer is complete.
    Answered {
        /// The tokens that the request used.
        usage: &'a TokenUsage,
    },
    /// A request failed and is sent again after a pause.
    Retry {
        /// Why it failed.
        error: &'a ClientError,
        /// The pause.
        pause: Duration,
    },
    /// The model was told of changes of the library.
    Note(&'a str),
    /// A person named a skill at the start of a task, as `/name`, and there is not one to load.
    UnknownSkill {
        /// The name.
        name: &'a str,
        /// The name of a skill that may be meant.
        nearest: Option<&'a str>,
    },
    /// The conversation was replaced by a summary.
    Compaction {
        /// The number of messages that were replaced.
        messages: usize,
    },
}

/// Gets reports on a conversation.
pub type Observer<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);
