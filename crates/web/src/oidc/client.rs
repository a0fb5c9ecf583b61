//! Requests to a provider.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use repertoire::http::{HttpClient, HttpError, HttpRequest, HttpResponse};
use tokio::sync::Semaphore;

use super::fault::OidcFault;
use super::options::is_safe_url;

/// Maximum time for an answer of the provider.
const TIMEOUT: Duration = Duration::from_secs(10);

const MAX_BYTES: u64 = 1024 * 1024;

/// Maximum characters of an error code of the provider in a message.
const MAX_CODE: usize = 64;

/// The characters that stay as they are in a form (RFC 3986, 2.3).
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Maximum requests at a time; more wait. Each takes a thread, and anyone can cause one with a made-up code.
const MAX_REQUESTS: usize = 8;

/// Sends requests by a client that blocks, on threads for that.
#[derive(Debug)]
pub(super) struct ProviderClient {
    http: HttpClient,
    permits: Semaphore,
}

impl ProviderClient {
    pub(super) fn new(http: HttpClient) -> Self {
        Self { http, permits: Semaphore::new(MAX_REQUESTS) }
    }

    /// Returns the document at `url`, called `what` in errors.
    pub(super) async fn get(&self, url: &str, what: &'static str) -> Result<Vec<u8>, OidcFault> {
        let request = prepared(self.http.get(expect_safe(url, what)?));
        let (status, body) = self.answer(what, move || request.call()).await?;
        if status == 200 { Ok(body) } else { Err(fault(what, &format!("status {status}"))) }
    }

    /// Returns the answer to the form at `url`, sent with the header `authorization`.
    pub(super) async fn post(
        &self,
        url: &str,
        authorization: Option<String>,
        form: &[(&str, &str)],
    ) -> Result<Vec<u8>, OidcFault> {
        let what = "token endpoint";
        let mut request = prepared(self.http.post(expect_safe(url, what)?));
        if let Some(authorization) = authorization {
            request = request.header("Authorization", &authorization);
        }
        let request = request.header("Content-Type", "application/x-www-form-urlencoded");
        let form = encoded(form);
        let (status, body) = self.answer(what, move || request.send(form)).await?;
        if status == 200 {
            return Ok(body);
        }
        let answer: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let code = answer["error"].as_str().and_then(error_code).unwrap_or_default();
        Err(fault(what, format!("status {status} {code}").trim_end()))
    }

    /// Returns the status and the body that `send` gets.
    async fn answer(
        &self,
        what: &'static str,
        send: impl FnOnce() -> Result<HttpResponse, HttpError> + Send + 'static,
    ) -> Result<(u16, Vec<u8>), OidcFault> {
        let _permit = self.permits.acquire().await;
        let exchange = move || {
            let response = send()?;
            Ok((response.status(), response.body(MAX_BYTES)?))
        };
        let answer: Result<Result<_, HttpError>, _> = tokio::task::spawn_blocking(exchange).await;
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(fault(what, &error.to_string())),
            Err(_) => Err(fault(what, "the server is stopping")),
        }
    }
}

/// Returns `request` with what all have. No redirect is followed: it would lead to a server not configured.
fn prepared(request: HttpRequest) -> HttpRequest {
    request.timeout(TIMEOUT).header("Accept", "application/json")
}

/// Returns the error code of a provider if it can be shown.
pub(crate) fn error_code(code: &str) -> Option<&str> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    Some(code).filter(|code| code.len() <= MAX_CODE && code.bytes().all(is_plain))
}

/// Returns `pairs` as a form, or as a query.
pub(super) fn encoded(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", percent(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Returns `text` as a value of a form.
pub(super) fn percent(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

fn expect_safe<'u>(url: &'u str, what: &str) -> Result<&'u str, OidcFault> {
    if is_safe_url(url) { Ok(url) } else { Err(fault(what, "its address is not https")) }
}

fn fault(what: &str, reason: &str) -> OidcFault {
    OidcFault::Provider(format!("{what}: {reason}"))
}
