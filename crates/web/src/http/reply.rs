//! Plain-text responses to requests that are refused.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// Returns a response with `status` and one line of text.
pub(super) fn refuse(status: StatusCode, reason: &str) -> Response {
    (status, format!("{reason}\n")).into_response()
}

/// Returns a 503 that asks for a retry after some seconds, and closes the connection to free its slot.
pub(super) fn overloaded(reason: &str, retry_seconds: u32) -> Response {
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, reason);
    response.headers_mut().insert(header::RETRY_AFTER, retry_seconds.into());
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
