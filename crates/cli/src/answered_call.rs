//! The end of a command that called a tool.

use repertoire::Reply;
use serde_json::Value;

use crate::error::CliError;
use crate::exit::Exit;

/// Returns the exit code of a command that printed `reply`, which has `data`, or the error that it is.
pub(crate) fn exit_of(reply: &Reply, data: &Value) -> Result<Exit, CliError> {
    match data["error"].as_str().filter(|_| reply.is_error()) {
        Some(error) => Err(CliError::no(error)),
        None => Ok(Exit::Success),
    }
}
