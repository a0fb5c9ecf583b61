//! Reading requests of the pipe, and writing their answers.

use repertoire::Error;
use repertoire_model::text::{nearest, shorten};
use serde_json::{Deserializer, Map, Value, json};

use super::lines::MAX_LINE_BYTES;
use crate::error::CliError;

/// The names of the requests about a session.
const OPERATIONS: &str = "catalog, tools, call, handle, handle_all, observe, compacted, evicted, reattach, delta, \
    diagnostics, focus, refresh, state, task, prompt, subagent";

/// A request: a JSON object with `op`.
pub(super) type Request = Map<String, Value>;

/// The fields of an answer, or the reason that a request was not answered.
pub(super) type Answer = Result<Map<String, Value>, ProtocolRefusal>;

/// The reason that a request was not answered.
pub(super) struct ProtocolRefusal {
    pub(super) kind: &'static str,
    pub(super) message: String,
}

/// The id of a line, and the request that it is or the reason that it is not one.
pub(super) type Parsed = (Option<Value>, Result<Request, ProtocolRefusal>);

/// Reads a line. One that is not JSON keeps an id that it begins with: its sender waits for an answer.
pub(super) fn parse(line: &[u8]) -> Parsed {
    let reason = match serde_json::from_slice(line) {
        Ok(Value::Object(request)) => return (request.get("id").cloned(), Ok(request)),
        Ok(_) => "a request is a JSON object".to_owned(),
        Err(error) => format!("the line is not JSON: {error}"),
    };
    let rest = line.strip_prefix(br#"{"id":"#).unwrap_or_default();
    (Deserializer::from_slice(rest).into_iter().next().and_then(Result::ok), Err(malformed(reason)))
}

/// Returns the line for an answer to the request with this id.
pub(super) fn answered(id: Option<Value>, answer: Answer) -> Value {
    let mut line = Map::from_iter([("ok".to_owned(), Value::Bool(answer.is_ok()))]);
    line.extend(id.map(|id| ("id".to_owned(), id)));
    match answer {
        Ok(mut fields) => line.append(&mut fields),
        Err(refusal) => {
            line.insert("error".to_owned(), json!({"kind": refusal.kind, "message": refusal.message}));
        }
    }
    Value::Object(line)
}

/// Returns the operation that a request names.
pub(super) fn operation(request: &Request) -> Result<&str, ProtocolRefusal> {
    text(request, "op")?.ok_or_else(|| bad("`op` is missing"))
}

pub(super) fn text<'r>(request: &'r Request, name: &str) -> Result<Option<&'r str>, ProtocolRefusal> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad(format!("`{name}` is a string"))),
    }
}

pub(super) fn required<'r>(request: &'r Request, name: &str) -> Result<&'r str, ProtocolRefusal> {
    text(request, name)?.ok_or_else(|| bad(format!("`{name}` is missing")))
}

pub(super) fn list<'r>(request: &'r Request, name: &str) -> Result<&'r [Value], ProtocolRefusal> {
    match request.get(name) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(bad(format!("`{name}` is a list"))),
    }
}

pub(super) fn switch(request: &Request, name: &str) -> Result<Option<bool>, ProtocolRefusal> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(switch)) => Ok(Some(*switch)),
        Some(_) => Err(bad(format!("`{name}` is true or false"))),
    }
}

pub(super) fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Returns the refusal of a line that is longer than any that is read.
pub(super) fn too_long() -> Parsed {
    (None, Err(malformed(format!("the line is longer than {MAX_LINE_BYTES} bytes"))))
}

fn malformed(message: String) -> ProtocolRefusal {
    ProtocolRefusal { kind: "malformed", message }
}

pub(super) fn bad(message: impl Into<String>) -> ProtocolRefusal {
    ProtocolRefusal { kind: "bad_request", message: message.into() }
}

impl From<Error> for ProtocolRefusal {
    fn from(error: Error) -> Self {
        Self { kind: "failed", message: error.chain() }
    }
}

/// An error of the workspace, with its causes and hints in one line.
impl From<CliError> for ProtocolRefusal {
    fn from(error: CliError) -> Self {
        let causes = error.causes().iter().map(|cause| format!(": {cause}"));
        let hints = error.hints().iter().map(|hint| format!("; {hint}"));
        let more: String = causes.chain(hints).collect();
        Self { kind: "failed", message: format!("{}{more}", error.message()) }
    }
}

pub(super) fn unknown_operation(operation: &str) -> ProtocolRefusal {
    let hint = match nearest(operation, OPERATIONS.split(", ")) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are: {OPERATIONS}"),
    };
    let operation = shorten(operation, 80);
    let message = format!("there is no operation `{operation}`; {hint}");
    ProtocolRefusal { kind: "unknown_operation", message }
}
