//! The services that requests can be written for.

use serde::{Deserialize, Serialize};

/// The API of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModelApi {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions API, which most local servers speak.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI's Responses API.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
}

impl ModelApi {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::OpenAiResponses];

    /// Returns its name, as it is typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
        }
    }

    /// Returns the provider with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == name)
    }

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
