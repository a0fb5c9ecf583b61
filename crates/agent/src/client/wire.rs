//! The differences between the APIs: addresses, headers, bodies and events.

use serde_json::Value;

use super::decoder::Decoder;
use super::{Provider, anthropic, chat, responses};
use crate::request::Request;

/// Returns the URL of requests, for a base address with or without `/v1`.
pub(super) fn url(provider: Provider, base: &str) -> String {
    let base = base.trim_end_matches('/');
    let (path, version) = match provider {
        Provider::Anthropic => ("messages", if base.ends_with("/v1") { "" } else { "/v1" }),
        Provider::OpenAi => ("chat/completions", ""),
        Provider::OpenAiResponses => ("responses", ""),
    };
    format!("{base}{version}/{path}")
}

/// Returns the headers of requests.
pub(super) fn headers(provider: Provider, key: Option<&str>) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    match provider {
        Provider::Anthropic => {
            headers.push(("anthropic-version", anthropic::VERSION.to_owned()));
            headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
        }
        Provider::OpenAi | Provider::OpenAiResponses => {
            headers.extend(key.map(|key| ("authorization", format!("Bearer {key}"))));
        }
    }
    headers
}

/// Returns the body of a request. The same request always gives the same bytes.
pub(super) fn body(provider: Provider, request: &Request<'_>) -> Value {
    match provider {
        Provider::Anthropic => anthropic::body(request),
        Provider::OpenAi => chat::body(request),
        Provider::OpenAiResponses => responses::body(request),
    }
}

/// Returns a decoder of the events of one answer.
pub(super) fn decoder(provider: Provider) -> Box<dyn Decoder> {
    match provider {
        Provider::Anthropic => Box::<anthropic::AnthropicDecoder>::default(),
        Provider::OpenAi => Box::<chat::ChatDecoder>::default(),
        Provider::OpenAiResponses => Box::<responses::ResponsesDecoder>::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_end_with_a_version_and_a_slash() {
        assert_eq!(url(Provider::Anthropic, "http://localhost:1/"), "http://localhost:1/v1/messages");
        assert_eq!(url(Provider::Anthropic, "http://localhost:1/v1"), "http://localhost:1/v1/messages");
        assert_eq!(url(Provider::OpenAi, "http://localhost:1/v1/"), "http://localhost:1/v1/chat/completions");
        assert_eq!(url(Provider::OpenAiResponses, "https://x/v1"), "https://x/v1/responses");
    }
}
