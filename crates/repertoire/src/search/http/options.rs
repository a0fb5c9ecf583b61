//! Which server says what texts mean, and how it is asked.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Is told of a failure, in words.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// Which server says what texts mean, and how it is asked.
#[derive(Clone)]
pub struct HttpOptions {
    /// The address before `/embeddings`, as in `https://api.openai.com/v1`.
    pub url: String,
    /// The model.
    pub model: String,
    /// The bearer token; without it none is sent.
    pub key: Option<String>,
    /// The directory in which answers are kept; without it every process asks anew.
    pub cache: Option<PathBuf>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How often a request is made again that was turned away for the moment.
    pub retries: usize,
    /// How long is waited before the first time; then twice as long each time.
    pub backoff: Duration,
    /// How long a server that failed is left alone.
    pub rest: Duration,
    /// Is told of a failure, once for the whole process.
    pub notice: Option<Notice>,
}

impl HttpOptions {
    /// Returns the usual choices for the server at `url` and its `model`.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            cache: None,
            timeout: Duration::from_secs(20),
            retries: 3,
            backoff: Duration::from_millis(500),
            rest: Duration::from_secs(60),
            notice: None,
        }
    }

    /// Returns what speaks against these choices.
    pub fn refusal(&self) -> Option<HttpRefusal> {
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if !matches!(scheme, "http" | "https") || authority.is_empty() || authority.contains('@') {
            return Some(HttpRefusal::Address);
        }
        let is_printable = |text: &str| text.chars().all(|letter| letter.is_ascii_graphic());
        if self.model.trim().is_empty() {
            return Some(HttpRefusal::Model);
        }
        if self.key.as_deref().is_some_and(|key| key.is_empty() || !is_printable(key)) {
            return Some(HttpRefusal::Key);
        }
        (self.key.is_some() && scheme == "http" && !is_here(authority)).then_some(HttpRefusal::PlainKey)
    }
}

/// Returns whether `authority` is this machine.
fn is_here(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is nobody's business.
        f.debug_struct("HttpOptions")
            .field("url", &self.url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// What speaks against a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpRefusal {
    /// The address is none of a server.
    Address,
    /// There is no model.
    Model,
    /// The key is none that can be sent.
    Key,
    /// The key would be sent in the open, to another machine.
    PlainKey,
}

impl fmt::Display for HttpRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "the address must be http://HOST/PATH or https://HOST/PATH, without a user",
            Self::Model => "the model has no name",
            Self::Key => "the key is empty, or holds characters that cannot be sent",
            Self::PlainKey => "a key is sent to another machine by https only",
        })
    }
}

impl std::error::Error for HttpRefusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_travel_in_the_open() {
        let check = |url: &str, key: Option<&str>, expected: Option<HttpRefusal>| {
            let options = HttpOptions { key: key.map(str::to_owned), ..HttpOptions::new(url, "m") };
            assert_eq!(options.refusal(), expected, "{url} {key:?}");
            assert!(!format!("{options:?}").contains("secret"));
        };
        check("https://api.example.com/v1", Some("secret"), None);
        check("http://api.example.com/v1", Some("secret"), Some(HttpRefusal::PlainKey));
        check("http://api.example.com/v1", None, None);
        check("http://localhost:11434/v1", Some("secret"), None);
        check("http://127.0.0.1:1", Some("secret"), None);
        check("http://[::1]:1/v1", Some("secret"), None);
        check("http://localhost.example.com", Some("secret"), Some(HttpRefusal::PlainKey));
        check("http://127.0.0.1@example.com", Some("secret"), Some(HttpRefusal::Address));
        check("ftp://x", None, Some(HttpRefusal::Address));
        check("https://", None, Some(HttpRefusal::Address));
        check("x", None, Some(HttpRefusal::Address));
        check("https://x", Some("a\nb"), Some(HttpRefusal::Key));
        assert_eq!(HttpOptions::new("https://x", " ").refusal(), Some(HttpRefusal::Model));
    }
}
