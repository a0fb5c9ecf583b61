//! Options of the HTTP embedder.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use repertoire::http::HttpClient;
use repertoire_model::loopback::is_loopback;

/// A function that receives the message of a failure.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// Options of the HTTP embedder.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpEmbedderOptions {
    /// The URL without `/embeddings`, such as `https://api.openai.com/v1`.
    pub url: String,
    /// The name of the model.
    pub model: String,
    /// The client that requests go through.
    pub http: HttpClient,
    /// The bearer token, if the server needs one.
    pub key: Option<String>,
    /// The directory of the cache; without it every process requests all vectors again.
    pub cache: Option<PathBuf>,
    /// The timeout of one request.
    pub timeout: Duration,
    /// The number of retries after a temporary failure.
    pub retries: usize,
    /// The delay before the first retry; it doubles each time.
    pub backoff: Duration,
    /// The time without requests after a failure.
    pub rest: Duration,
    /// Receives the first failure.
    pub notice: Option<Notice>,
}

impl HttpEmbedderOptions {
    /// Returns the default options for the server at `url` and its `model`.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            http: HttpClient::default(),
            key: None,
            cache: None,
            timeout: Duration::from_secs(20),
            retries: 3,
            backoff: Duration::from_millis(500),
            rest: Duration::from_secs(60),
            notice: None,
        }
    }

    /// Returns the first error in the options, if there is one.
    pub(super) fn error(&self) -> Option<HttpEmbedderOptionsError> {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if !matches!(scheme, "http" | "https") || authority.is_empty() || authority.contains('@') {
            return Some(HttpEmbedderOptionsError::Address);
        }
        let is_printable = |text: &str| text.chars().all(|letter| letter.is_ascii_graphic());
        if self.model.trim().is_empty() {
            return Some(HttpEmbedderOptionsError::Model);
        }
        if self.key.as_deref().is_some_and(|key| key.is_empty() || !is_printable(key)) {
            return Some(HttpEmbedderOptionsError::Key);
        }
        (self.key.is_some() && scheme == "http" && !is_loopback(authority))
            .then_some(HttpEmbedderOptionsError::PlainKey)
    }
}

impl fmt::Debug for HttpEmbedderOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is a secret and left out.
        f.debug_struct("HttpEmbedderOptions")
            .field("url", &self.url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// An invalid option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpEmbedderOptionsError {
    /// The URL is invalid.
    Address,
    /// The name of the model is empty.
    Model,
    /// The key is empty or has characters that are not printable ASCII.
    Key,
    /// The key would be sent to another machine without encryption.
    PlainKey,
}

impl fmt::Display for HttpEmbedderOptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "the address must be http://HOST/PATH or https://HOST/PATH, without a user",
            Self::Model => "the model has no name",
            Self::Key => "the key is empty, or has characters that cannot be sent",
            Self::PlainKey => "a key is only sent to another machine over https",
        })
    }
}

impl std::error::Error for HttpEmbedderOptionsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_sent_without_encryption() {
        let check = |url: &str, key: Option<&str>, expected: Option<HttpEmbedderOptionsError>| {
            let options =
                HttpEmbedderOptions { key: key.map(str::to_owned), ..HttpEmbedderOptions::new(url, "m") };
            assert_eq!(options.error(), expected, "{url} {key:?}");
            assert!(!format!("{options:?}").contains("secret"));
        };
        check("https://api.example.com/v1", Some("secret"), None);
        check("http://api.example.com/v1", Some("secret"), Some(HttpEmbedderOptionsError::PlainKey));
        check("http://api.example.com/v1", None, None);
        check("http://localhost:11434/v1", Some("secret"), None);
        check("http://127.0.0.1:1", Some("secret"), None);
        check("http://[::1]:1/v1", Some("secret"), None);
        check("http://localhost.example.com", Some("secret"), Some(HttpEmbedderOptionsError::PlainKey));
        check("http://127.0.0.1@example.com", Some("secret"), Some(HttpEmbedderOptionsError::Address));
        check("ftp://x", None, Some(HttpEmbedderOptionsError::Address));
        check("https://", None, Some(HttpEmbedderOptionsError::Address));
        check("x", None, Some(HttpEmbedderOptionsError::Address));
        check("https://x", Some("a\nb"), Some(HttpEmbedderOptionsError::Key));
        assert_eq!(HttpEmbedderOptions::new("https://x", " ").error(), Some(HttpEmbedderOptionsError::Model));
    }
}
