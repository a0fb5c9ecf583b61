//! The error of a conversation.

use crate::client::ClientError;
use crate::transcript::TranscriptError;

/// The error that ended a conversation for now. What was said before is kept, and the conversation can go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The model gave no answer.
    #[error(transparent)]
    Client(ClientError),
    /// The system prompt could not be written.
    #[error(transparent)]
    Session(#[from] repertoire::Error),
    /// The transcript could not be written.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// The conversation was cancelled.
    #[error("the conversation was cancelled")]
    Cancelled,
}

impl From<ClientError> for AgentError {
    fn from(error: ClientError) -> Self {
        match error.kind() {
            crate::client::ClientErrorKind::Cancelled => Self::Cancelled,
            _ => Self::Client(error),
        }
    }
}
