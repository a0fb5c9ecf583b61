//! Parses messages of all known transcript formats into events.
//!
//! Nothing here is recursive: content is a string or a list of parts, and so is the content of a part.

use serde_json::Value;

pub(super) enum TranscriptEvent<'a> {
    /// The assistant speaks, in a message of its own.
    Message,
    /// The assistant acts, in an item beside its message.
    Item,
    /// A message of another speaker.
    Other,
    /// The assistant calls a tool.
    Call { id: &'a str, tool: &'a str, arguments: &'a Value },
    /// A call is answered.
    Result { id: &'a str, failed: bool, texts: Vec<&'a str> },
    /// The host or the person writes this.
    Text(&'a str),
}

/// Calls `tell` with the events of `message`, in order.
pub(super) fn events<'a>(message: &'a Value, tell: &mut impl FnMut(TranscriptEvent<'a>)) {
    match (text_at(message, "type"), text_at(message, "role")) {
        (Some("function_call"), _) => {
            tell(TranscriptEvent::Item);
            call(message, "call_id", message, "arguments", tell);
        }
        (Some("function_call_output"), _) => {
            tell(TranscriptEvent::Other);
            result(message, "call_id", "output", tell);
        }
        // Such an item is a call and its result at once.
        (Some("mcp_call"), _) => {
            tell(TranscriptEvent::Item);
            call(message, "id", message, "arguments", tell);
            result(message, "id", "output", tell);
        }
        (_, Some("assistant")) => {
            tell(TranscriptEvent::Message);
            blocks(message).for_each(|block| assistant_block(block, tell));
            let calls = message.get("tool_calls").or_else(|| message.get("toolCalls"));
            for tool_call in calls.and_then(Value::as_array).into_iter().flatten() {
                let function = tool_call.get("function").unwrap_or(tool_call);
                let key = if function.get("arguments").is_some() { "arguments" } else { "args" };
                call(tool_call, "id", function, key, tell);
            }
        }
        (_, Some("tool")) => {
            tell(TranscriptEvent::Other);
            let id = if message.get("toolCallId").is_some() { "toolCallId" } else { "tool_call_id" };
            result(message, id, "content", tell);
            blocks(message).for_each(|block| sdk_result(block, tell));
        }
        (_, Some("user" | "system" | "developer")) => {
            tell(TranscriptEvent::Other);
            if let Some(text) = text_at(message, "content") {
                tell(TranscriptEvent::Text(text));
            }
            for block in blocks(message) {
                if text_at(block, "type") == Some("tool_result") {
                    result(block, "tool_use_id", "content", tell);
                } else if let Some(text) = part_text(block) {
                    tell(TranscriptEvent::Text(text));
                }
            }
        }
        _ => (),
    }
}

fn assistant_block<'a>(block: &'a Value, tell: &mut impl FnMut(TranscriptEvent<'a>)) {
    match text_at(block, "type") {
        Some("tool_use" | "mcp_tool_use") => call(block, "id", block, "input", tell),
        Some("mcp_tool_result") => result(block, "tool_use_id", "content", tell),
        Some("tool-call") => {
            let arguments = block.get("input").or_else(|| block.get("args"));
            if let (Some(id), Some(tool), Some(arguments)) =
                (text_at(block, "toolCallId"), text_at(block, "toolName"), arguments)
            {
                tell(TranscriptEvent::Call { id, tool, arguments });
            }
        }
        Some("tool-result") => sdk_result(block, tell),
        _ => (),
    }
}

fn call<'a>(
    holder: &'a Value,
    id: &str,
    function: &'a Value,
    arguments: &str,
    tell: &mut impl FnMut(TranscriptEvent<'a>),
) {
    if let (Some(id), Some(tool), Some(arguments)) =
        (text_at(holder, id), text_at(function, "name"), function.get(arguments))
    {
        tell(TranscriptEvent::Call { id, tool, arguments });
    }
}

fn result<'a>(holder: &'a Value, id: &str, content: &str, tell: &mut impl FnMut(TranscriptEvent<'a>)) {
    if let Some(id) = text_at(holder, id) {
        let texts = holder.get(content).map(texts).unwrap_or_default();
        tell(TranscriptEvent::Result { id, failed: is_failed(holder), texts });
    }
}

/// Calls `tell` with the result in a part of the AI SDK, whose output is typed or, in older versions, bare.
fn sdk_result<'a>(part: &'a Value, tell: &mut impl FnMut(TranscriptEvent<'a>)) {
    if let (Some("tool-result"), Some(id)) = (text_at(part, "type"), text_at(part, "toolCallId")) {
        let output = part.get("output").or_else(|| part.get("result")).unwrap_or(&Value::Null);
        let is_error = text_at(output, "type")
            .is_some_and(|word| word.starts_with("error") || word == "execution-denied");
        let texts = texts(output.get("value").unwrap_or(output));
        tell(TranscriptEvent::Result { id, failed: is_error || is_failed(part), texts });
    }
}

fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text.as_str()],
        Value::Array(parts) => parts.iter().filter_map(part_text).collect(),
        _ => Vec::new(),
    }
}

/// Returns `true` if a result is marked as failed, in any of the ways of hosts and protocols.
fn is_failed(result: &Value) -> bool {
    let is_true = |key| result.get(key).and_then(Value::as_bool) == Some(true);
    is_true("is_error")
        || is_true("isError")
        || matches!(text_at(result, "status"), Some("error" | "failed" | "incomplete"))
        || result.get("metadata").and_then(Value::as_object).is_some_and(|metadata| {
            let is_mark = |key: &str| ["TOOL_FAILED", "toolFailed", "tool_failed"].contains(&key);
            metadata
                .iter()
                .any(|(key, value)| is_mark(key) && !matches!(value, Value::Null | Value::Bool(false)))
        })
        || result.get("error").is_some_and(|error| !error.is_null())
}

/// Returns the text of a part of content, if it is one of text.
fn part_text(part: &Value) -> Option<&str> {
    match text_at(part, "type") {
        None | Some("text" | "input_text" | "output_text") => part.as_str().or_else(|| text_at(part, "text")),
        Some(_) => None,
    }
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("content").and_then(Value::as_array).into_iter().flatten()
}

fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}
