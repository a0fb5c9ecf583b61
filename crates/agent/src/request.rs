//! A request to a model.

use repertoire::tool::Definition;
use repertoire_model::model_api::{self, ApiFormat};
use serde_json::Value;

use crate::cache::Breakpoints;
use crate::message::Message;

/// A request to a model: tools, system prompt and messages, in the order in which services cache them.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The name of the model.
    pub model: &'a str,
    /// The tools that the model may call.
    pub tools: &'a [Definition],
    /// The system prompt.
    pub system: &'a str,
    /// The messages so far; the last one is the user's.
    pub messages: &'a [Message],
    /// The ends of the parts that the service is to cache.
    pub breakpoints: Breakpoints,
    /// True if tool calls are forbidden (`tool_choice` none).
    pub without_calls: bool,
    /// The most tokens that the model may write; `None` for the service's limit.
    pub max_output_tokens: Option<u32>,
    /// The sampling temperature; `None` for the service's default.
    pub temperature: Option<f64>,
}

impl<'a> Request<'a> {
    /// Returns a request with the usual breakpoints.
    pub fn new(model: &'a str, tools: &'a [Definition], system: &'a str, messages: &'a [Message]) -> Self {
        let breakpoints = Breakpoints::of(tools.len(), system, messages);
        Self {
            model,
            tools,
            system,
            messages,
            breakpoints,
            without_calls: false,
            max_output_tokens: None,
            temperature: None,
        }
    }

    /// Returns the tools as `format` takes them.
    pub(crate) fn tools_as(&self, format: ApiFormat) -> Vec<Value> {
        let tools = self.tools.iter();
        let tools = tools.map(|tool| (tool.name.as_str(), tool.description.as_str(), &tool.input_schema));
        model_api::tools(format, tools)
    }
}
