//! The trait of clients, and the answer of a model.

use repertoire::BoxFuture;

use super::error::ClientError;
use crate::cancel::Cancellation;
use crate::message::Message;
use crate::progress::Observer;
use crate::request::Request;
use crate::usage::TokenUsage;

/// Sends requests to a model.
pub trait Client: Send + Sync {
    /// Sends a request and returns the answer; texts are reported as they arrive.
    ///
    /// Fails with [`Cancelled`](super::ClientErrorKind::Cancelled) soon after `cancellation` is cancelled.
    fn send<'a>(
        &'a self,
        request: &'a Request<'a>,
        observer: Observer<'a>,
        cancellation: &'a Cancellation,
    ) -> BoxFuture<'a, Result<Response, ClientError>>;

    /// Returns the bytes of the request's body, if the client writes them itself.
    fn body(&self, _request: &Request<'_>) -> Option<String> {
        None
    }
}

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
