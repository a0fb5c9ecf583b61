//! OpenAI's Chat Completions API, and the servers that speak it.

use repertoire_model::model_api::ApiFormat;
use repertoire_model::toolbox::nearest_tool_name;
use serde_json::{Value, json};

use super::decoder::{Decoder, argument_text, arguments, count, parsed, push_text};
use super::{ClientError, Response, StopReason};
use crate::message::{Block, Message, Role};
use crate::request::Request;
use crate::usage::TokenUsage;

const MAX_CALLS: usize = 128;

/// Returns the body of a request. The service finds the prefix to cache by itself.
pub(super) fn body(request: &Request<'_>) -> Value {
    let mut body = json!({"model": request.model});
    if !request.tools.is_empty() {
        body["tools"] = request.tools_as(ApiFormat::OpenAi).into();
        if request.without_calls {
            body["tool_choice"] = json!("none");
        }
    }
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for message in request.messages {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.extend(assistant(message)),
        }
    }
    body["messages"] = messages.into();
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    if let Some(limit) = request.max_output_tokens {
        body["max_completion_tokens"] = json!(limit);
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    body
}

/// Adds a message of the user: the answers to calls first, each a message of its own.
fn user(message: &Message, messages: &mut Vec<Value>) {
    for block in &message.content {
        if let Block::ToolResult { tool_use_id, content, .. } = block {
            messages.push(json!({"role": "tool", "tool_call_id": tool_use_id, "content": content}));
        }
    }
    let texts: Vec<&str> = message.content.iter().filter_map(text).collect();
    if !texts.is_empty() {
        messages.push(json!({"role": "user", "content": texts.join("\n\n")}));
    }
}

fn text(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// Returns a message of the model, unless nothing is in it, which services refuse.
fn assistant(message: &Message) -> Option<Value> {
    let text = message.text();
    let content = if text.trim().is_empty() { Value::Null } else { Value::String(text) };
    let mut written = json!({"role": "assistant", "content": content});
    let calls: Vec<Value> = message
        .calls()
        .map(|call| {
            let function =
                json!({"name": nearest_tool_name(call.name), "arguments": argument_text(call.input)});
            json!({"id": call.id, "type": "function", "function": function})
        })
        .collect();
    if calls.is_empty() && written["content"].is_null() {
        return None;
    }
    if !calls.is_empty() {
        written["tool_calls"] = calls.into();
    }
    Some(written)
}

/// Decodes the events of an answer.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    text: String,
    refusal: bool,
    calls: Vec<PartialCall>,
    usage: TokenUsage,
    stop: Option<StopReason>,
    is_complete: bool,
}

/// A call as far as it has come.
#[derive(Debug, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl ChatDecoder {
    fn call(&mut self, delta: &Value) {
        let id = delta["id"].as_str().filter(|id| !id.is_empty());
        let mut index = match delta["index"].as_u64() {
            Some(index) => index as usize,
            // Some servers number no calls, and send each of them whole.
            None if id.is_some() || delta["function"]["name"].is_string() => self.calls.len(),
            None => self.calls.len().saturating_sub(1),
        };
        // Some give every call the same number.
        let is_other = |call: &PartialCall| id.is_some_and(|id| !call.id.is_empty() && call.id != id);
        if self.calls.get(index).is_some_and(is_other) {
            index =
                self.calls.iter().position(|call| Some(call.id.as_str()) == id).unwrap_or(self.calls.len());
        }
        if index >= MAX_CALLS {
            return;
        }
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, PartialCall::default);
        }
        let call = &mut self.calls[index];
        let part = |pointer: &str| delta.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if call.id.is_empty() {
            call.id = part("/id").to_owned();
        }
        // Some servers repeat the name with every part.
        if call.name != part("/function/name") {
            call.name.push_str(part("/function/name"));
        }
        match delta.pointer("/function/arguments") {
            Some(Value::String(text)) => call.arguments.push_str(text),
            Some(object @ Value::Object(_)) => call.arguments = object.to_string(),
            _ => {}
        }
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, data: &str) -> Result<Option<String>, ClientError> {
        if data.trim() == "[DONE]" {
            self.is_complete = true;
            return Ok(None);
        }
        let event = parsed(data)?;
        if event["usage"].is_object() {
            let cached = count(&event, "/usage/prompt_tokens_details/cached_tokens");
            self.usage.cache_read = cached;
            self.usage.input = count(&event, "/usage/prompt_tokens").saturating_sub(cached);
            self.usage.output = count(&event, "/usage/completion_tokens");
        }
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call);
        }
        if delta["refusal"].is_string() {
            self.refusal = true;
        }
        match choice["finish_reason"].as_str() {
            None => {}
            Some("length") => self.stop = Some(StopReason::Length),
            Some("content_filter") => self.stop = Some(StopReason::Refusal),
            Some(_) => self.stop = Some(StopReason::Done),
        }
        let text = ["content", "refusal"].iter().find_map(|key| delta[*key].as_str());
        let text = text.filter(|text| !text.is_empty());
        self.text.push_str(text.unwrap_or_default());
        Ok(text.map(str::to_owned))
    }

    fn is_complete(&self) -> bool {
        // Some servers close the stream without the last line.
        self.is_complete || self.stop.is_some()
    }

    fn has_ended(&self) -> bool {
        // The number of tokens may follow the end of the text.
        self.is_complete
    }

    fn response(self: Box<Self>) -> Response {
        let mut content = Vec::new();
        push_text(&mut content, &self.text);
        let calls = self.calls.into_iter().filter(|call| !call.name.is_empty()).enumerate();
        content.extend(calls.map(|(position, call)| Block::ToolUse {
            id: if call.id.is_empty() { format!("call_{position}") } else { call.id },
            name: call.name,
            input: arguments(&call.arguments),
        }));
        let stop = if self.refusal { StopReason::Refusal } else { self.stop.unwrap_or(StopReason::Done) };
        let usage = TokenUsage { requests: 1, ..self.usage };
        Response { message: Message { role: Role::Assistant, content }, stop, usage }
    }
}
