//! A request for the vectors of some texts.

use std::time::Duration;

use repertoire::http::{HttpError, HttpErrorKind};
use serde_json::{Value, json};

use super::options::HttpEmbedderOptions;
use crate::meaning::Vector;

/// The most bytes of an answer.
const MAX_ANSWER_BYTES: u64 = 32 * 1024 * 1024;
/// The most bytes of an error response that are quoted.
const MAX_FAULT_BYTES: u64 = 512;
/// The most dimensions of an embedding.
const MAX_DIMENSIONS: usize = 4096;
/// The longest accepted `Retry-After`.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The failure of a request.
#[derive(Debug)]
pub(super) struct RequestFault {
    /// The message: lower case, no final period.
    pub(super) message: String,
    /// `Some` if a retry may succeed, with the delay that the server asks for.
    pub(super) retry: Option<Option<Duration>>,
}

impl RequestFault {
    fn permanent(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry: None }
    }
}

/// Requests the vectors of `texts` from the server of `options`; returns them in order.
pub(super) fn request_embeddings(
    options: &HttpEmbedderOptions,
    texts: &[&str],
) -> Result<Vec<Option<Vector>>, RequestFault> {
    let url = format!("{}/embeddings", options.url.trim_end_matches('/'));
    let body = json!({ "model": options.model, "input": texts, "encoding_format": "float" }).to_string();
    // A redirect would lead to a server that the user did not choose, and is not followed.
    let mut request = options.http.post(&url).timeout(options.timeout);
    request = request.header("Content-Type", "application/json");
    if let Some(key) = &options.key {
        request = request.header("Authorization", &format!("Bearer {key}"));
    }
    let response = request.send(body).map_err(fault)?;
    let status = response.status();
    if status != 200 {
        let wait = response.header("Retry-After").and_then(|value| value.trim().parse().ok());
        let wait = wait.map(Duration::from_secs);
        let text = response.start(MAX_FAULT_BYTES);
        let text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        let message =
            if text.is_empty() { format!("status {status}") } else { format!("status {status}: {text}") };
        let is_temporary = matches!(status, 408 | 425 | 429 | 500..=599);
        return Err(RequestFault {
            message,
            retry: is_temporary.then_some(wait.map(|wait| wait.min(MAX_WAIT))),
        });
    }
    // A truncated body is not valid JSON.
    let bytes = response.start(MAX_ANSWER_BYTES + 1);
    if bytes.len() as u64 > MAX_ANSWER_BYTES {
        return Err(RequestFault::permanent("the answer is too large"));
    }
    let answer: Value = serde_json::from_slice(&bytes)
        .map_err(|error| RequestFault::permanent(format!("the answer is not JSON: {error}")))?;
    vectors(&answer, texts.len()).map_err(RequestFault::permanent)
}

fn fault(error: HttpError) -> RequestFault {
    // A refused connection will not be accepted a second later.
    let is_temporary = matches!(error.kind(), HttpErrorKind::Interrupted | HttpErrorKind::Timeout);
    RequestFault { message: error.to_string(), retry: is_temporary.then_some(None) }
}

/// Returns the vectors of an answer for `count` texts, in the order of the texts.
fn vectors(answer: &Value, count: usize) -> Result<Vec<Option<Vector>>, String> {
    let data = answer.get("data").and_then(Value::as_array).ok_or("the answer has no `data`")?;
    if data.len() != count {
        return Err(format!("the answer has {} embeddings for {count} texts", data.len()));
    }
    let mut found: Vec<Option<Vec<f32>>> = vec![None; count];
    for (place, item) in data.iter().enumerate() {
        // Without an `index` the embedding is for the text at the same position.
        let index = match item.get("index") {
            None => place,
            Some(index) => index.as_u64().map_or(usize::MAX, |index| index as usize),
        };
        let values =
            item.get("embedding").and_then(Value::as_array).ok_or("the answer has no `embedding`")?;
        if values.is_empty() || values.len() > MAX_DIMENSIONS {
            return Err(format!("an embedding has {} dimensions, not 1 to {MAX_DIMENSIONS}", values.len()));
        }
        let values: Option<Vec<f32>> =
            values.iter().map(|value| value.as_f64().map(|value| value as f32)).collect();
        let values = values.ok_or("an embedding has a value that is not a number")?;
        match found.get_mut(index) {
            Some(slot @ None) => *slot = Some(values),
            _ => return Err("an `index` in the answer is invalid or repeated".to_owned()),
        }
    }
    Ok(found.iter().map(|values| values.as_deref().and_then(Vector::of)).collect())
}
