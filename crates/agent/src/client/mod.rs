//! Clients of the services that models run behind.

mod error;
mod provider;
mod sse;
mod decoder;
mod anthropic;
mod chat;
mod responses;
mod wire;
mod http;

pub use error::{ClientError, ClientErrorKind};
pub use http::{HttpClient, HttpOptions};
pub use provider::Provider;

use repertoire::BoxFuture;

use crate::cancel::Cancellation;
use crate::message::Message;
use crate::progress::Observer;
use crate::request::Request;
use crate::usage::Usage;

/// Sends requests to a model.
pub trait Client: Send + Sync {
    /// Sends a request and returns the answer; texts are reported as they arrive.
    ///
    /// It ends with [`ClientErrorKind::Cancelled`] soon after `cancellation` is cancelled.
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
    pub stop: Stop,
    /// The tokens that the request used.
    pub usage: Usage,
}

impl Response {
    /// Returns the answer `message`.
    pub fn new(message: Message, stop: Stop, usage: Usage) -> Self {
        Self { message, stop, usage }
    }
}

/// The reason why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// It was done, or waits for the answers to its calls.
    Done,
    /// It wrote as many tokens as it may.
    Length,
    /// It or the service refused to go on.
    Refusal,
}
