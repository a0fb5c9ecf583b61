//! Reads calls out of the answers of models, and writes their results.

use serde_json::{Map, Value, json};

use super::tools::ApiFormat;

/// The arguments of a call without any.
static NO_ARGUMENTS: Value = Value::Null;

/// A call of a tool in an answer of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelCall<'a> {
    /// The API whose shape it has.
    pub format: ApiFormat,
    /// The identifier that its result repeats; Gemini may leave it out.
    pub id: Option<&'a str>,
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments: an object, or the text of one.
    pub arguments: &'a Value,
}

impl<'a> ModelCall<'a> {
    /// Returns the call that `value` is, if it is one: a block, an item, a part, or an entry of `tool_calls`.
    pub fn read(value: &'a Value) -> Option<Self> {
        let text = |holder: &'a Value, key: &str| holder.get(key).and_then(Value::as_str);
        let call = |format, id, function: &'a Value, arguments: &str| {
            let arguments = function.get(arguments).unwrap_or(&NO_ARGUMENTS);
            Some(Self { format, id, name: text(function, "name")?, arguments })
        };
        match text(value, "type") {
            Some("tool_use") => call(ApiFormat::Anthropic, text(value, "id"), value, "input"),
            Some("function_call") => {
                call(ApiFormat::OpenAiResponses, text(value, "call_id"), value, "arguments")
            }
            _ => {
                if let Some(function) = value.get("function") {
                    return call(ApiFormat::OpenAi, text(value, "id"), function, "arguments");
                }
                // The client libraries of Gemini write it in both ways.
                let wrapped = value.get("functionCall").or_else(|| value.get("function_call"));
                let function = match wrapped {
                    Some(function) => function,
                    // A tool without parameters is called without `args`, but a bare object needs them.
                    None => value.get("args").map(|_| value)?,
                };
                call(ApiFormat::Gemini, text(function, "id"), function, "args")
            }
        }
    }

    /// Returns the result of the call, as the API takes it.
    pub fn result(&self, text: &str, is_error: bool) -> Value {
        match self.format {
            ApiFormat::Anthropic => {
                let mut result = json!({"type": "tool_result", "tool_use_id": self.id, "content": text});
                if is_error {
                    result["is_error"] = json!(true);
                }
                result
            }
            ApiFormat::OpenAi => json!({"role": "tool", "tool_call_id": self.id, "content": text}),
            ApiFormat::OpenAiResponses => {
                json!({"type": "function_call_output", "call_id": self.id, "output": text})
            }
            ApiFormat::Gemini | ApiFormat::JsonSchema => {
                let response = json!({if is_error { "error" } else { "output" }: text});
                let mut result = Map::from_iter([("name".to_owned(), json!(self.name))]);
                result.extend(self.id.map(|id| ("id".to_owned(), json!(id))));
                result.insert("response".to_owned(), response);
                json!({"functionResponse": result})
            }
        }
    }
}

/// Returns the calls in `answer`, with the API whose shape it has: an answer of that API as it is, the
/// message or the list of items in it, or one call. Returns `None` for anything else.
pub fn calls(answer: &Value) -> Option<(ApiFormat, Vec<ModelCall<'_>>)> {
    if let Some(call) = ModelCall::read(answer) {
        return Some((call.format, vec![call]));
    }
    if let Value::Array(items) = answer {
        return Some(in_list(ApiFormat::default(), items));
    }
    let first = |key: &str| answer.get(key).and_then(|list| list.get(0));
    let message = first("choices").map_or(answer, |choice| choice.get("message").unwrap_or(choice));
    if let Some(calls) = message.get("tool_calls").and_then(Value::as_array) {
        return Some(in_list(ApiFormat::OpenAi, calls));
    }
    if first("choices").is_some() {
        return Some((ApiFormat::OpenAi, Vec::new()));
    }
    if let Some(items) = answer.get("output").and_then(Value::as_array) {
        return Some(in_list(ApiFormat::OpenAiResponses, items));
    }
    let content = first("candidates").and_then(|candidate| candidate.get("content")).unwrap_or(answer);
    if let Some(parts) = content.get("parts").and_then(Value::as_array) {
        return Some(in_list(ApiFormat::Gemini, parts));
    }
    // An answer that was blocked or cut off has no parts.
    if answer.get("candidates").is_some_and(Value::is_array) {
        return Some((ApiFormat::Gemini, Vec::new()));
    }
    match answer.get("content") {
        Some(Value::Array(blocks)) => Some(in_list(ApiFormat::Anthropic, blocks)),
        // A message of an assistant that calls nothing.
        Some(Value::String(_) | Value::Null) => Some((ApiFormat::default(), Vec::new())),
        _ => None,
    }
}

/// Returns the calls among `items`, which are those of `format` unless a call says otherwise.
fn in_list(format: ApiFormat, items: &[Value]) -> (ApiFormat, Vec<ModelCall<'_>>) {
    let calls: Vec<ModelCall<'_>> = items.iter().filter_map(ModelCall::read).collect();
    (calls.first().map_or(format, |call| call.format), calls)
}

/// Returns the messages that hold `results`, to be appended behind the message of the assistant; without
/// results it is empty.
pub fn messages(format: ApiFormat, results: Vec<Value>) -> Vec<Value> {
    match format {
        _ if results.is_empty() => Vec::new(),
        ApiFormat::Anthropic => vec![json!({"role": "user", "content": results})],
        ApiFormat::Gemini | ApiFormat::JsonSchema => vec![json!({"role": "user", "parts": results})],
        ApiFormat::OpenAi | ApiFormat::OpenAiResponses => results,
    }
}
