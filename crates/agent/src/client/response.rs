//! The answer of a model.

use crate::message::Message;
use crate::usage::TokenUsage;

/// The answer of a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Response {
    /// The message.
    pub message: Message,
    /// Why the model stopped.
    pub stop: StopReason,
    /// The tokens that the request used.
    pub usage: TokenUsage,
}

impl Response {
    /// Returns the answer `message`.
    pub fn new(message: Message, stop: StopReason, usage: TokenUsage) -> Self {
        Self { message, stop, usage }
    }
}

/// The reason why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// It was done, or waits for the answers to its calls.
    Done,
    /// It wrote as many tokens as it may.
    Length,
    /// It or the service refused to go on.
    Refusal,
}
