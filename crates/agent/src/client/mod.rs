//! Clients of the services that models run behind.

mod error;
mod response;
mod provider;
mod sse;
mod decoder;
mod anthropic;
mod chat;
mod responses;
mod wire;
mod http;

pub use error::{ClientError, ClientErrorKind};
pub use http::{ModelClient, ModelClientOptions};
pub use provider::ModelApi;
pub use response::{Response, StopReason};

use repertoire::BoxFuture;

use crate::cancel::Cancellation;
use crate::progress::Observer;
use crate::request::Request;

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
