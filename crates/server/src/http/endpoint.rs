//! MCP for whoever has one token, or for everybody where there is none.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rmcp::model::{ErrorCode, ErrorData, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::limits::{busy_answer, refuse};
use super::options::Limits;
use crate::audience::Audience;
use crate::mcp::{Decoded, Handler, decode};

/// MCP for one principal. Conversations of one are out of reach of all others.
pub(super) struct Endpoint {
    pub(super) audience: Arc<Audience>,
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    max_sessions: usize,
}

impl Endpoint {
    /// Returns MCP for `audience`. Subscriptions end with `closing`, all other streams with `closed`.
    pub(super) fn new(
        audience: Arc<Audience>,
        limits: &Limits,
        closing: &CancellationToken,
        closed: &CancellationToken,
    ) -> Self {
        let mut session = SessionConfig::default();
        session.keep_alive = Some(limits.session_time);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = session;
        let sessions = Arc::new(sessions);
        // Host and Origin were looked at before anything gets here.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_max_request_body_bytes(limits.body_bytes)
            .with_cancellation_token(closed.clone());
        let (served, closing) = (Arc::clone(&audience), closing.clone());
        let handler = move || Ok(Handler::new(Arc::clone(&served), &closing));
        let service = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        Self { audience, service, sessions, max_sessions: limits.sessions }
    }

    /// Answers a request whose body is `body`.
    pub(super) async fn answer(&self, parts: Parts, body: Bytes) -> Response {
        let (is_post, is_delete) = (parts.method == Method::POST, parts.method == Method::DELETE);
        if is_post
            && may_begin_session(&parts.headers)
            && self.sessions.sessions.read().await.len() >= self.max_sessions
        {
            return busy_answer("there are too many conversations");
        }
        if is_post && is_handshake_of_today(&parts.headers) {
            return no_handshake(&body);
        }
        let is_json = is_json(&parts.headers);
        let request = Request::from_parts(parts, Body::from(body.clone()));
        let response = self.service.handle(request).await.into_response();
        // A conversation that was ended is over. The official Python client takes rmcp's 202 for a failure.
        if is_delete && response.status() == StatusCode::ACCEPTED {
            return StatusCode::NO_CONTENT.into_response();
        }
        // rmcp says of a body that is no message that its type is wrong, though it is the right one.
        match response.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE if is_post && is_json => no_message(&body).unwrap_or(response),
            _ => response,
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}

/// Returns the answer to a body that is no message.
fn no_message(body: &[u8]) -> Option<Response> {
    match decode(body) {
        Decoded::Message(_) => None,
        Decoded::Nothing => Some(refuse(StatusCode::BAD_REQUEST, "the body holds no request")),
        Decoded::Refused(answer) => {
            let kind = [(header::CONTENT_TYPE, "application/json")];
            Some((StatusCode::BAD_REQUEST, kind, answer.to_string()).into_response())
        }
    }
}

/// Returns whether a request says both that it is a handshake and that its version has none.
fn is_handshake_of_today(headers: &HeaderMap) -> bool {
    is_modern(headers) && headers.get("mcp-method").is_some_and(|method| method == "initialize")
}

/// Returns the answer to a handshake in a version that has none.
fn no_handshake(body: &[u8]) -> Response {
    let message = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let reason = "this version has no handshake; ask server/discover";
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, reason, None);
    let answer = json!({"jsonrpc": "2.0", "id": message.get("id"), "error": error});
    (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

/// Returns whether a request may begin a conversation: it belongs to none, and does not say that it needs none.
fn may_begin_session(headers: &HeaderMap) -> bool {
    !is_modern(headers) && !headers.contains_key("mcp-session-id")
}

fn is_modern(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}
