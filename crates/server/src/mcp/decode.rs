//! From bytes to a message, and the right error for everything else.

use rmcp::model::{ClientJsonRpcMessage, ErrorData};
use serde_json::{Value, json};

/// What bytes hold.
pub(crate) enum Decoded {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing, or what needs no answer.
    Nothing,
    /// What is no message, with the answer to it.
    Refused(Value),
}

/// Returns what `bytes` hold.
pub(crate) fn decode(bytes: &[u8]) -> Decoded {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return Decoded::Nothing;
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(bytes) {
        Ok(message) => Decoded::Message(Box::new(message)),
        Err(_) => refused(bytes),
    }
}

/// Returns the answer to what is no message.
fn refused(bytes: &[u8]) -> Decoded {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return Decoded::Refused(error(&Value::Null, ErrorData::parse_error("this is not JSON", None)));
    };
    // Notifications are never answered, not even those that nobody understands.
    let is_notification = value.get("method").is_some_and(Value::is_string) && value.get("id").is_none();
    if is_notification && value.get("jsonrpc") == Some(&json!("2.0")) {
        return Decoded::Nothing;
    }
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned().unwrap_or(Value::Null);
    let reason = match &value {
        Value::Array(_) => "batches are not supported; send one message at a time",
        _ => "this is no JSON-RPC 2.0 message",
    };
    Decoded::Refused(error(&id, ErrorData::invalid_request(reason, None)))
}

/// Returns the answer that what has `id` is refused.
pub(crate) fn error(id: &Value, error: ErrorData) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_answered_under_its_id() {
        let check = |text: &str, expect: Option<(Value, i64)>| match (decode(text.as_bytes()), expect) {
            (Decoded::Refused(answer), Some((id, code))) => {
                assert_eq!((&answer["id"], answer["error"]["code"].as_i64()), (&id, Some(code)), "{text}");
            }
            (Decoded::Nothing, None) => {}
            _ => panic!("{text}"),
        };
        check("{", Some((Value::Null, -32700)));
        check("\u{0}", Some((Value::Null, -32700)));
        check("[]", Some((Value::Null, -32600)));
        check("1", Some((Value::Null, -32600)));
        check("{\"id\":7}", Some((json!(7), -32600)));
        check("{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", Some((json!("a"), -32600)));
        check("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", Some((Value::Null, -32600)));
        check("", None);
        check(" \r\n", None);
        assert!(matches!(
            decode(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n"),
            Decoded::Message(_)
        ));
    }

    #[test]
    fn depth_and_size_are_bounded_by_the_parser() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(decode(deep.as_bytes()), Decoded::Refused(_)));
    }
}
