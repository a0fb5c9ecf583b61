//! Requests, with their limits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::{Request, Uri};

use super::address::join;
use super::agents::Agents;
use super::body::HttpResponse;
use super::error::{HttpError, HttpErrorKind};

/// The longest that a request takes unless it says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A request to a server. It blocks the thread that sends it.
#[derive(Clone)]
#[must_use = "a request is sent by `call` or `send`"]
pub struct HttpRequest {
    agents: Arc<Agents>,
    method: &'static str,
    url: String,
    headers: Vec<(String, String)>,
    timeout: Duration,
    connect_timeout: Option<Duration>,
    redirects: u32,
}

impl HttpRequest {
    pub(super) fn new(agents: &Arc<Agents>, method: &'static str, url: &str) -> Self {
        Self {
            agents: Arc::clone(agents),
            method,
            url: url.to_owned(),
            headers: Vec::new(),
            timeout: TIMEOUT,
            connect_timeout: None,
            redirects: 0,
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Limits the time until the answer is read to its end.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Limits the time until there is a connection.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// Follows at most `most` redirects of a request without a body; by default the redirect is the answer.
    ///
    /// Redirects do not lead from an encrypted address to one that is not, and are not sent `Authorization`.
    pub fn redirects(mut self, most: u32) -> Self {
        self.redirects = most;
        self
    }

    /// Sends the request without a body, and returns the answer, whatever its status.
    pub fn call(mut self) -> Result<HttpResponse, HttpError> {
        let end = Instant::now().checked_add(self.timeout);
        loop {
            let response = self.exchange(())?;
            if self.redirects == 0 || !matches!(response.status(), 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let Some(next) = response.header("location").and_then(|to| join(&self.url, to)) else {
                return Ok(response);
            };
            if self.url.starts_with("https://") && !next.starts_with("https://") {
                let message = format!("it redirects to {next}, which is not encrypted");
                return Err(HttpError::new(HttpErrorKind::Other, message));
            }
            self.url = next;
            self.redirects -= 1;
            self.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            self.timeout = end.map_or(self.timeout, |end| end.saturating_duration_since(Instant::now()));
        }
    }

    /// Sends the request with `body`, and returns the answer, whatever its status.
    pub fn send(self, body: impl AsRef<[u8]>) -> Result<HttpResponse, HttpError> {
        self.exchange(body.as_ref())
    }

    fn exchange(&self, body: impl ureq::AsSendBody) -> Result<HttpResponse, HttpError> {
        let invalid = |error: &dyn std::fmt::Display| HttpError::new(HttpErrorKind::Other, error.to_string());
        let uri: Uri = self.url.parse().map_err(|error| invalid(&error))?;
        let is_encrypted = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
        let proxy = self.agents.proxy.as_ref().and_then(|proxy| proxy.for_host(uri.host()?, port));
        // The proxy itself may be asked encrypted.
        let agent =
            if is_encrypted || proxy.is_some() { self.agents.encrypted()? } else { self.agents.plain() };
        let mut request = Request::builder().method(self.method).uri(uri);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(body).map_err(|error| invalid(&error))?;
        let request = agent
            .configure_request(request)
            .timeout_global(Some(self.timeout))
            .timeout_connect(self.connect_timeout)
            .proxy(proxy.cloned())
            .build();
        agent.run(request).map(HttpResponse::new).map_err(|error| {
            let error = HttpError::of(&error, self.agents.certificates.help());
            if proxy.is_some() { error.with(" (through the proxy)") } else { error }
        })
    }
}
