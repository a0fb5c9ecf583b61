//! Anthropic's Messages API.

use repertoire_model::model_api::ApiFormat;
use repertoire_model::toolbox::nearest_tool_name;
use serde_json::{Value, json};

use super::decoder::{Decoder, arguments, count, parsed};
use super::{ClientError, ModelApi, Response, StopReason};
use crate::message::{Block, Message, Role};
use crate::request::Request;
use crate::usage::TokenUsage;

pub(super) const VERSION: &str = "2023-06-01";

/// The most tokens of an answer where the host does not say; the API demands a number.
const MAX_OUTPUT_TOKENS: u32 = 8192;

pub(super) fn body(request: &Request<'_>) -> Value {
    let breakpoints = request.breakpoints;
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_output_tokens.unwrap_or(MAX_OUTPUT_TOKENS),
        "stream": true,
    });
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    let mut tools = request.tools_as(ApiFormat::Anthropic);
    if breakpoints.tools {
        tools.last_mut().map(mark);
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    if request.without_calls && !request.tools.is_empty() {
        body["tool_choice"] = json!({"type": "none"});
    }
    if !request.system.is_empty() {
        let mut system = json!({"type": "text", "text": request.system});
        if breakpoints.system {
            mark(&mut system);
        }
        body["system"] = json!([system]);
    }
    let messages = request.messages.iter().enumerate();
    let messages = messages.filter_map(|(position, message)| written(message, breakpoints.is_at(position)));
    body["messages"] = messages.collect();
    body
}

/// Marks a block as the end of a part to cache.
fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

/// Returns a message, unless nothing is in it, which the API refuses.
fn written(message: &Message, is_marked: bool) -> Option<Value> {
    let mut content: Vec<Value> = message.content.iter().filter_map(block).collect();
    if is_marked {
        content.last_mut().map(mark);
    }
    (!content.is_empty()).then(|| json!({"role": message.role, "content": content}))
}

fn block(block: &Block) -> Option<Value> {
    match block {
        // The API refuses blank texts.
        Block::Text { text } if text.trim().is_empty() => None,
        Block::Text { text } => Some(json!({"type": "text", "text": text})),
        Block::ToolUse { id, name, input } => {
            let input = if input.is_object() { input.clone() } else { json!({}) };
            Some(json!({"type": "tool_use", "id": id, "name": nearest_tool_name(name), "input": input}))
        }
        Block::ToolResult { tool_use_id, content, is_error } => {
            let mut result = json!({"type": "tool_result", "tool_use_id": tool_use_id, "content": content});
            if *is_error {
                result["is_error"] = json!(true);
            }
            Some(result)
        }
        Block::Vendor { provider: ModelApi::Anthropic, data } => Some(data.clone()),
        Block::Vendor { .. } => None,
    }
}

/// Decodes the events of an answer.
#[derive(Debug, Default)]
pub(super) struct AnthropicDecoder {
    content: Vec<Value>,
    /// The arguments of calls, by block, as far as they have come.
    inputs: Vec<String>,
    usage: TokenUsage,
    stop: Option<StopReason>,
    is_complete: bool,
}

impl AnthropicDecoder {
    fn count(&mut self, usage: &Value) {
        let newer = |old: &mut u64, pointer: &str| *old = (*old).max(count(usage, pointer));
        newer(&mut self.usage.input, "/input_tokens");
        newer(&mut self.usage.cache_read, "/cache_read_input_tokens");
        newer(&mut self.usage.cache_write, "/cache_creation_input_tokens");
        newer(&mut self.usage.output, "/output_tokens");
    }

    fn delta(&mut self, index: usize, delta: &Value) -> Option<String> {
        let block = self.content.get_mut(index)?;
        let mut append = |key: &str| {
            let added = delta[key].as_str().unwrap_or_default();
            let text = format!("{}{added}", block[key].as_str().unwrap_or_default());
            block[key] = Value::String(text);
            added.to_owned()
        };
        match delta["type"].as_str()? {
            "text_delta" => Some(append("text")),
            "thinking_delta" => {
                append("thinking");
                None
            }
            "signature_delta" => {
                append("signature");
                None
            }
            "input_json_delta" => {
                self.inputs[index].push_str(delta["partial_json"].as_str().unwrap_or_default());
                None
            }
            _ => None,
        }
    }
}

impl Decoder for AnthropicDecoder {
    fn event(&mut self, data: &str) -> Result<Option<String>, ClientError> {
        let event = parsed(data)?;
        let index = count(&event, "/index") as usize;
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&event["message"]["usage"]),
            "content_block_start" if index == self.content.len() => {
                let block = event["content_block"].clone();
                let text = block["text"].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
                self.content.push(block);
                self.inputs.push(String::new());
                return Ok(text);
            }
            "content_block_delta" => return Ok(self.delta(index, &event["delta"])),
            "message_delta" => {
                self.count(&event["usage"]);
                self.stop = match event["delta"]["stop_reason"].as_str() {
                    None => self.stop,
                    Some("max_tokens" | "model_context_window_exceeded") => Some(StopReason::Length),
                    Some("refusal") => Some(StopReason::Refusal),
                    Some(_) => Some(StopReason::Done),
                };
            }
            "message_stop" => self.is_complete = true,
            _ => {}
        }
        Ok(None)
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn response(self: Box<Self>) -> Response {
        let blocks = self.content.into_iter().zip(self.inputs);
        let content = blocks.filter_map(|(block, input)| match block["type"].as_str()? {
            "text" => Some(Block::text(block["text"].as_str()?)).filter(|text| *text != Block::text("")),
            "tool_use" => Some(Block::ToolUse {
                id: block["id"].as_str()?.to_owned(),
                name: block["name"].as_str()?.to_owned(),
                input: if input.is_empty() && block["input"].is_object() {
                    block["input"].clone()
                } else {
                    arguments(&input)
                },
            }),
            _ => Some(Block::Vendor { provider: ModelApi::Anthropic, data: block }),
        });
        Response {
            message: Message { role: Role::Assistant, content: content.collect() },
            stop: self.stop.unwrap_or(StopReason::Done),
            usage: TokenUsage { requests: 1, ..self.usage },
        }
    }
}
