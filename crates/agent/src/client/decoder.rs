//! Decoding the events of an answer.

use serde_json::Value;

use super::{ClientError, ClientErrorKind, Response};
use crate::message::Block;

/// Puts an answer together from the events of one service.
pub(super) trait Decoder: Send {
    /// Takes the data of an event and returns the text that it adds to the answer, if any.
    fn event(&mut self, data: &str) -> Result<Option<String>, ClientError>;

    /// Returns `true` if the answer is complete.
    fn is_complete(&self) -> bool;

    /// Returns `true` if no event follows in the answer.
    fn has_ended(&self) -> bool {
        self.is_complete()
    }

    /// Returns the answer.
    fn response(self: Box<Self>) -> Response;
}

/// Parses the data of an event. An event that tells of an error is one.
pub(super) fn parsed(data: &str) -> Result<Value, ClientError> {
    let value: Value = serde_json::from_str(data).map_err(|error| {
        let start: String = data.chars().take(80).collect();
        ClientError::new(
            ClientErrorKind::Malformed,
            format!("the service sent an event that is not JSON ({error}): {start}"),
        )
    })?;
    match value.get("error").filter(|error| !error.is_null()) {
        Some(error) => Err(reported(error)),
        None => Ok(value),
    }
}

/// Returns the error that an event of a stream tells of.
pub(super) fn reported(error: &Value) -> ClientError {
    let name = ["type", "code"].iter().find_map(|key| error[*key].as_str()).unwrap_or("error");
    let message = error["message"].as_str().or_else(|| error.as_str()).unwrap_or("no details");
    let kind = match name {
        "overloaded_error" | "rate_limit_error" | "rate_limit_exceeded" => ClientErrorKind::Overloaded,
        "api_error" | "server_error" | "timeout_error" => ClientErrorKind::Server,
        "authentication_error" | "permission_error" => ClientErrorKind::Unauthorized,
        _ => ClientErrorKind::Rejected,
    };
    ClientError::new(kind, format!("the service ended the answer: {message} ({name})"))
}

/// Returns the arguments of a call from the text that the model wrote.
pub(super) fn arguments(text: &str) -> Value {
    match text.trim() {
        "" => Value::Object(serde_json::Map::new()),
        text => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

/// Returns the text of the arguments of a call; what is not an object is left out, because servers parse it.
pub(super) fn argument_text(input: &Value) -> String {
    if input.is_object() { input.to_string() } else { "{}".to_owned() }
}

/// Adds a text to the last block if that is a text, too.
pub(super) fn push_text(content: &mut Vec<Block>, text: &str) {
    if let Some(Block::Text { text: last }) = content.last_mut() {
        last.push_str(text);
    } else if !text.is_empty() {
        content.push(Block::text(text));
    }
}

/// Returns the number in a field, or 0.
pub(super) fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}
