//! The differences between the APIs: addresses, headers, bodies and events.

use serde_json::Value;

use super::decoder::Decoder;
use super::{ModelApi, anthropic, chat, responses};
use crate::request::Request;

/// Returns the URL of requests, for a base address with or without `/v1`.
pub(super) fn url(provider: ModelApi, base: &str) -> String {
    let base = base.trim_end_matches('/');
    let (path, version) = match provider {
        ModelApi::Anthropic => ("messages", if base.ends_with("/v1") { "" } else { "/v1" }),
        ModelApi::OpenAi => ("chat/completions", ""),
        ModelApi::OpenAiResponses => ("responses", ""),
    };
    format!("{base}{version}/{path}")
}

pub(super) fn headers(provider: ModelApi, key: Option<&str>) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    match provider {
        ModelApi::Anthropic => {
            headers.push(("anthropic-version", anthropic::VERSION.to_owned()));
            headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
        }
        ModelApi::OpenAi | ModelApi::OpenAiResponses => {
            headers.extend(key.map(|key| ("authorization", format!("Bearer {key}"))));
        }
    }
    headers
}

/// Returns the body of a request. The same request always gives the same bytes.
pub(super) fn body(provider: ModelApi, request: &Request<'_>) -> Value {
    match provider {
        ModelApi::Anthropic => anthropic::body(request),
        ModelApi::OpenAi => chat::body(request),
        ModelApi::OpenAiResponses => responses::body(request),
    }
}

/// Returns a decoder of the events of one answer.
pub(super) fn decoder(provider: ModelApi) -> Box<dyn Decoder> {
    match provider {
        ModelApi::Anthropic => Box::<anthropic::AnthropicDecoder>::default(),
        ModelApi::OpenAi => Box::<chat::ChatDecoder>::default(),
        ModelApi::OpenAiResponses => Box::<responses::ResponsesDecoder>::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_end_with_a_version_and_a_slash() {
        assert_eq!(url(ModelApi::Anthropic, "http://localhost:1/"), "http://localhost:1/v1/messages");
        assert_eq!(url(ModelApi::Anthropic, "http://localhost:1/v1"), "http://localhost:1/v1/messages");
        assert_eq!(url(ModelApi::OpenAi, "http://localhost:1/v1/"), "http://localhost:1/v1/chat/completions");
        assert_eq!(url(ModelApi::OpenAiResponses, "https://x/v1"), "https://x/v1/responses");
    }
}
