//! OpenAI's Responses API.

use repertoire_model::model_api::ApiFormat;
use repertoire_model::toolbox::nearest_tool_name;
use serde_json::{Value, json};

use super::decoder::{Decoder, argument_text, arguments, count, parsed, push_text, reported};
use super::{ClientError, ModelApi, Response, StopReason};
use crate::message::{Block, Message, Role};
use crate::request::Request;
use crate::usage::TokenUsage;

/// Returns the body of a request. The service keeps nothing, and finds the prefix to cache by itself.
pub(super) fn body(request: &Request<'_>) -> Value {
    let mut body = json!({"model": request.model});
    if !request.tools.is_empty() {
        body["tools"] = request.tools_as(ApiFormat::OpenAiResponses).into();
        if request.without_calls {
            body["tool_choice"] = json!("none");
        }
    }
    if !request.system.is_empty() {
        body["instructions"] = json!(request.system);
    }
    body["input"] = request.messages.iter().flat_map(items).collect();
    body["store"] = json!(false);
    // Models that do not reason refuse it.
    if !["gpt-4", "gpt-3", "chatgpt"].iter().any(|start| request.model.starts_with(start)) {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    body["stream"] = json!(true);
    if let Some(limit) = request.max_output_tokens {
        body["max_output_tokens"] = json!(limit);
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    body
}

/// Returns the items of a message. The service refuses reasoning that nothing follows, as in a cut answer.
fn items(message: &Message) -> impl Iterator<Item = Value> {
    let last = message.content.iter().rposition(|block| !matches!(block, Block::Vendor { .. }));
    let end = last.map_or(0, |last| last + 1);
    message.content[..end].iter().filter_map(|block| item(message.role, block))
}

fn item(role: Role, block: &Block) -> Option<Value> {
    match block {
        Block::Text { text } if text.trim().is_empty() => None,
        Block::Text { text } => {
            let kind = if role == Role::User { "input_text" } else { "output_text" };
            Some(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
        }
        Block::ToolUse { id, name, input } => Some(
            json!({"type": "function_call", "call_id": id, "name": nearest_tool_name(name), "arguments": argument_text(input)}),
        ),
        Block::ToolResult { tool_use_id, content, .. } => {
            Some(json!({"type": "function_call_output", "call_id": tool_use_id, "output": content}))
        }
        Block::Vendor { provider: ModelApi::OpenAiResponses, data } => Some(data.clone()),
        Block::Vendor { .. } => None,
    }
}

/// Decodes the events of an answer.
#[derive(Debug, Default)]
pub(super) struct ResponsesDecoder {
    content: Vec<Block>,
    /// The text that came in pieces since the last message was complete.
    streamed: String,
    /// `true` if an item came in an event of its own.
    has_items: bool,
    usage: TokenUsage,
    stop: Option<StopReason>,
    is_complete: bool,
}

impl ResponsesDecoder {
    /// Adds an item that is complete, and returns its text if none of it came in pieces.
    fn add(&mut self, item: &Value) -> Option<String> {
        let text = |key: &str| item[key].as_str().unwrap_or_default();
        match text("type") {
            "message" => {
                let mut whole = String::new();
                for part in item["content"].as_array().into_iter().flatten() {
                    let said = part["text"].as_str().or_else(|| part["refusal"].as_str());
                    whole.push_str(said.unwrap_or_default());
                    if part["type"] == "refusal" {
                        self.stop = Some(StopReason::Refusal);
                    }
                }
                push_text(&mut self.content, &whole);
                let is_new = std::mem::take(&mut self.streamed).is_empty();
                return Some(whole).filter(|whole| is_new && !whole.is_empty());
            }
            "function_call" => {
                let id = if text("call_id").is_empty() { text("id") } else { text("call_id") };
                let (id, name) = (id.to_owned(), text("name").to_owned());
                self.content.push(Block::ToolUse { id, name, input: arguments(text("arguments")) });
            }
            _ => self.content.push(Block::Vendor { provider: ModelApi::OpenAiResponses, data: item.clone() }),
        }
        None
    }

    /// Ends the answer. Returns the text of `response` if nothing of it came before.
    fn end(&mut self, response: &Value, stop: StopReason) -> Option<String> {
        let mut text = String::new();
        if !self.has_items {
            for item in response["output"].as_array().into_iter().flatten() {
                text.extend(self.add(item));
            }
            let streamed = std::mem::take(&mut self.streamed);
            push_text(&mut self.content, &streamed);
        }
        let cached = count(response, "/usage/input_tokens_details/cached_tokens");
        self.usage.cache_read = cached;
        self.usage.input = count(response, "/usage/input_tokens").saturating_sub(cached);
        self.usage.output = count(response, "/usage/output_tokens");
        self.stop = self.stop.or(Some(stop));
        self.is_complete = true;
        Some(text).filter(|text| !text.is_empty())
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, data: &str) -> Result<Option<String>, ClientError> {
        if data.trim() == "[DONE]" {
            return Ok(None);
        }
        let event = parsed(data)?;
        match event["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" | "response.refusal.delta" => {
                let piece = event["delta"].as_str().unwrap_or_default();
                self.streamed.push_str(piece);
                return Ok(Some(piece.to_owned()));
            }
            "response.output_item.done" => {
                self.has_items = true;
                return Ok(self.add(&event["item"]));
            }
            "response.completed" => return Ok(self.end(&event["response"], StopReason::Done)),
            "response.incomplete" => {
                let reason = event.pointer("/response/incomplete_details/reason").and_then(Value::as_str);
                let stop =
                    if reason == Some("content_filter") { StopReason::Refusal } else { StopReason::Length };
                return Ok(self.end(&event["response"], stop));
            }
            "response.failed" => return Err(reported(&event["response"]["error"])),
            "error" => return Err(reported(&event)),
            _ => {}
        }
        Ok(None)
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn response(self: Box<Self>) -> Response {
        Response {
            message: Message { role: Role::Assistant, content: self.content },
            stop: self.stop.unwrap_or(StopReason::Done),
            usage: TokenUsage { requests: 1, ..self.usage },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the pieces of text and the text of the answer that `events` make.
    fn check(events: &[Value], pieces: &[&str], text: &str) {
        let mut decoder = Box::new(ResponsesDecoder::default());
        let shown: Vec<String> =
            events.iter().filter_map(|event| decoder.event(&event.to_string()).unwrap()).collect();
        assert!(decoder.is_complete());
        assert_eq!(shown, pieces);
        assert_eq!(decoder.response().message.text(), text);
    }

    fn message(text: &str) -> Value {
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
    }

    fn item(text: &str) -> Value {
        json!({"type": "response.output_item.done", "item": message(text)})
    }

    fn delta(text: &str) -> Value {
        json!({"type": "response.output_text.delta", "delta": text})
    }

    fn completed(output: Value) -> Value {
        json!({"type": "response.completed", "response": {"output": output}})
    }

    #[test]
    fn text_is_shown_once_whichever_events_it_comes_in() {
        let whole = || completed(json!([message("Hello!")]));
        check(&[delta("Hel"), delta("lo!"), item("Hello!"), whole()], &["Hel", "lo!"], "Hello!");
        check(&[item("Hello!"), whole()], &["Hello!"], "Hello!");
        check(&[item("Hello!"), completed(Value::Null)], &["Hello!"], "Hello!");
        check(&[whole()], &["Hello!"], "Hello!");
        check(&[delta("Hello!"), whole()], &["Hello!"], "Hello!");
        check(&[delta("Hello!"), completed(Value::Null)], &["Hello!"], "Hello!");
        // Only the first message came in pieces.
        check(
            &[delta("One."), item("One."), item("Two."), completed(Value::Null)],
            &["One.", "Two."],
            "One.Two.",
        );
    }

    #[test]
    fn calls_of_an_answer_without_events_for_items_are_read() {
        let call = json!({"type": "function_call", "call_id": "c1", "name": "load_skill", "arguments": "{}"});
        let mut decoder = ResponsesDecoder::default();
        let event = completed(json!([call]));
        assert_eq!(decoder.event(&event.to_string()).unwrap(), None);
        assert_eq!(Box::new(decoder).response().message.calls().count(), 1);
    }
}
