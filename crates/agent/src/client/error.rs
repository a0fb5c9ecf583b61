//! The error of a request.

use std::time::Duration;

/// The error of a request to a model.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[error("{message}")]
pub struct ClientError {
    kind: ClientErrorKind,
    message: String,
    retry_after: Option<Duration>,
}

/// The kind of a [`ClientError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// The service does not accept the key.
    Unauthorized,
    /// There is no such model or address.
    NotFound,
    /// The service does not accept the request.
    Rejected,
    /// The service is busy, or the key has used up its rate.
    Overloaded,
    /// The service failed.
    Server,
    /// The service cannot be reached.
    Connection,
    /// The answer took too long.
    Timeout,
    /// The answer ended before it was complete.
    Cut,
    /// The answer cannot be understood.
    Malformed,
    /// The answer has neither text nor calls of tools.
    Empty,
    /// The request was cancelled.
    Cancelled,
}

impl ClientError {
    /// Returns an error.
    pub fn new(kind: ClientErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// Returns the error with the time that the service wants to be left alone for.
    #[must_use]
    pub fn retry_after(mut self, time: Option<Duration>) -> Self {
        self.retry_after = time;
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ClientErrorKind {
        self.kind
    }

    /// Returns the time that the service wants to be left alone for.
    pub fn pause(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns whether the same request may succeed soon.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, ClientErrorKind::Overloaded | ClientErrorKind::Server | ClientErrorKind::Cut)
    }
}
