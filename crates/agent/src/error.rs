//! The error of a conversation.

use std::fmt;

use crate::client::ClientError;
use crate::transcript::TranscriptError;

/// The error that ended a conversation for now. What was said before it is kept, and the conversation can go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentError {
    /// The model gave no answer.
    Client(ClientError),
    /// The system prompt could not be written.
    Session(repertoire::Error),
    /// The transcript could not be written.
    Transcript(TranscriptError),
    /// The conversation was cancelled.
    Cancelled,
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Session(error) => error.fmt(f),
            Self::Transcript(error) => error.fmt(f),
            Self::Cancelled => f.write_str("the conversation was cancelled"),
        }
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Client(_) | Self::Cancelled => None,
            Self::Session(error) => error.source(),
            Self::Transcript(error) => error.source(),
        }
    }
}

impl From<ClientError> for AgentError {
    fn from(error: ClientError) -> Self {
        match error.kind() {
            crate::client::ClientErrorKind::Cancelled => Self::Cancelled,
            _ => Self::Client(error),
        }
    }
}

impl From<repertoire::Error> for AgentError {
    fn from(error: repertoire::Error) -> Self {
        Self::Session(error)
    }
}

impl From<TranscriptError> for AgentError {
    fn from(error: TranscriptError) -> Self {
        Self::Transcript(error)
    }
}
