//! How much is done at a time.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use http_body_util::LengthLimitError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::options::Limits;

/// More requests than anybody can have under way.
const BUSY: u32 = 1 << 20;

/// What is free of everything that is limited.
#[derive(Debug)]
pub(super) struct Room {
    limits: Limits,
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    busy: Arc<Semaphore>,
}

impl Room {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            requests: Arc::new(Semaphore::new(limits.requests)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            busy: Arc::new(Semaphore::new(BUSY as usize)),
        }
    }

    /// Waits until a request may be worked on; none where that takes as long as a body may.
    pub(super) async fn request(&self) -> Option<OwnedSemaphorePermit> {
        let request = Arc::clone(&self.requests).acquire_owned();
        tokio::time::timeout(self.limits.body_time, request).await.ok()?.ok()
    }

    /// Returns what is held while something is under way that a stopped server still finishes.
    pub(super) fn busy(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.busy).try_acquire_owned().ok()
    }

    /// Waits until nothing is under way, no longer than is allowed.
    pub(super) async fn idle(&self) {
        let _ = tokio::time::timeout(self.limits.grace, self.busy.acquire_many(BUSY)).await;
    }

    /// Returns the bytes of `body`, or the answer to one that is too large or too slow.
    pub(super) async fn read(&self, body: Body) -> Result<Bytes, Response> {
        let bytes = axum::body::to_bytes(body, self.limits.body_bytes);
        match tokio::time::timeout(self.limits.body_time, bytes).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) if is_too_large(&error) => {
                Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"))
            }
            Ok(Err(_)) => Err(refuse(StatusCode::BAD_REQUEST, "the body cannot be read")),
            Err(_) => Err(refuse(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
        }
    }

    /// Returns what is held by a stream that waits for changes; none where there are too many.
    pub(super) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }
}

/// Returns `response`; where it is a stream of events, `held` is given back when that ends.
pub(super) fn hold(response: Response, held: impl Send + 'static) -> Response {
    let kind = response.headers().get(axum::http::header::CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return response;
    }
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |chunk| {
            let _ = &held;
            chunk
        }))
    })
}

fn is_too_large(error: &axum::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Returns the answer that there is no room just now.
pub(super) fn busy_answer(reason: &'static str) -> Response {
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, reason);
    response.headers_mut().insert(axum::http::header::RETRY_AFTER, axum::http::HeaderValue::from_static("1"));
    response
}

/// Returns the answer that a request is refused.
pub(super) fn refuse(status: StatusCode, reason: &'static str) -> Response {
    (status, format!("{reason}\n")).into_response()
}
