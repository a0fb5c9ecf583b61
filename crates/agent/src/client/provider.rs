//! The services that requests can be written for.

use serde::{Deserialize, Serialize};

repertoire_model::words! {
    /// The API of a service.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    ModelApi {
        /// Anthropic's Messages API.
        Anthropic "anthropic",
        /// OpenAI's Chat Completions API, which most local servers speak.
        #[serde(rename = "openai")]
        OpenAi "openai",
        /// OpenAI's Responses API.
        #[serde(rename = "openai-responses")]
        OpenAiResponses "openai-responses",
    }
}

impl ModelApi {
    /// Returns the address of the service itself, which others can stand in for.
    pub fn base_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi | Self::OpenAiResponses => "https://api.openai.com/v1",
        }
    }

    /// Returns the variable that usually holds the key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi | Self::OpenAiResponses => "OPENAI_API_KEY",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_are_those_of_the_transcript() {
        for provider in ModelApi::ALL {
            assert_eq!(ModelApi::parse(provider.as_str()), Some(provider));
            assert_eq!(serde_json::to_value(provider).unwrap(), provider.as_str());
        }
    }
}
