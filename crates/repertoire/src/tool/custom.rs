//! Tools of the host.

use serde_json::{Map, Value};

use super::reply::ToolReply;
use crate::future::BoxFuture;
use crate::prompt::Agent;
use crate::registry::Registry;

/// A tool that the host adds to those of the library.
///
/// ```
/// use repertoire::{BoxFuture, Tool, ToolCall, ToolReply};
/// use serde_json::{Value, json};
///
/// struct Today;
///
/// impl Tool for Today {
///     fn name(&self) -> &str {
///         "today"
///     }
///     fn description(&self) -> String {
///         "Tells the date.".to_owned()
///     }
///     fn input_schema(&self) -> Value {
///         json!({"type": "object", "properties": {}, "additionalProperties": false})
///     }
///     fn call<'a>(&'a self, _: ToolCall<'a>) -> BoxFuture<'a, ToolReply> {
///         Box::pin(async { ToolReply::text("1970-01-01") })
///     }
/// }
/// ```
pub trait Tool: Send + Sync {
    /// Returns its name. No built-in tool may have it.
    fn name(&self) -> &str;

    /// Returns its description, for models.
    fn description(&self) -> String;

    /// Returns the JSON Schema of its arguments.
    fn input_schema(&self) -> Value;

    /// Answers a call.
    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, ToolReply>;
}

/// A call of a tool of the host.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ToolCall<'a> {
    /// The arguments, as the model wrote them; they need not match the schema.
    pub arguments: &'a Map<String, Value>,
    /// The id of the session that the call belongs to.
    pub session_id: &'a str,
    /// The agent of that session, if it has one.
    pub agent: Option<&'a Agent>,
    /// The skills of the library.
    pub registry: &'a Registry,
}
