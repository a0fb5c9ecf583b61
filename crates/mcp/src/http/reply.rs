//! Responses.

use std::convert::Infallible;

use ::http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use serde_json::Value;

/// A response to a request over HTTP.
pub type EndpointResponse = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Returns a response with `status` and one line of text.
pub(super) fn refuse(status: StatusCode, reason: &str) -> EndpointResponse {
    full(status, "text/plain; charset=utf-8", format!("{reason}\n"))
}

/// Returns a response with `status` and a message.
pub(super) fn json_response(status: StatusCode, answer: &Value) -> EndpointResponse {
    full(status, "application/json", answer.to_string())
}

fn full(status: StatusCode, media_type: &'static str, text: String) -> EndpointResponse {
    let mut response = Response::new(Full::from(text).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
