//! MCP for whoever has one token, or for everybody where there is none.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::limits::{busy_answer, refuse};
use super::options::Limits;
use crate::audience::Audience;
use crate::mcp::{Decoded, Handler, decode};

/// What a request asks for, as far as it matters how much of it there is. Its body says so: headers may say anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A handshake, which begins a conversation.
    Handshake,
    /// A handshake in a version that has none.
    HandshakeOfToday,
    /// A stream that lasts until there is something to tell, and longer.
    ToBeTold,
    /// Anything else.
    Answer,
}

impl Asked {
    /// Returns what a request with this body asks for.
    pub(super) fn of(parts: &Parts, body: &[u8]) -> Self {
        if parts.method == Method::GET {
            return Self::ToBeTold;
        }
        if parts.method != Method::POST {
            return Self::Answer;
        }
        let Decoded::Message(message) = decode(body) else { return Self::Answer };
        let JsonRpcMessage::Request(request) = *message else { return Self::Answer };
        let is_of_today = match &request.request {
            ClientRequest::InitializeRequest(handshake) => {
                handshake.params.protocol_version == ProtocolVersion::V_2026_07_28
            }
            _ => false,
        };
        match request.request.method() {
            "initialize" if is_of_today || is_modern(&parts.headers) => Self::HandshakeOfToday,
            "initialize" => Self::Handshake,
            "subscriptions/listen" => Self::ToBeTold,
            _ => Self::Answer,
        }
    }
}

/// MCP for one principal. Conversations of one are out of reach of all others.
pub(super) struct Endpoint {
    pub(super) audience: Arc<Audience>,
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    max_sessions: usize,
    /// Held while a conversation is begun, so that no two take the last place.
    beginning: Mutex<()>,
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
        Self { audience, service, sessions, max_sessions: limits.sessions, beginning: Mutex::default() }
    }

    /// Answers a request whose body is `body` and asks for `asked`.
    pub(super) async fn answer(&self, parts: Parts, body: Bytes, asked: Asked) -> Response {
        let (is_post, is_delete) = (parts.method == Method::POST, parts.method == Method::DELETE);
        let _beginning = match asked {
            Asked::HandshakeOfToday => return no_handshake(&body),
            Asked::Handshake => {
                let beginning = self.beginning.lock().await;
                if self.sessions.sessions.read().await.len() >= self.max_sessions {
                    return busy_answer("there are too many conversations");
                }
                Some(beginning)
            }
            Asked::ToBeTold | Asked::Answer => None,
        };
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

/// Returns the answer to a handshake in a version that has none.
fn no_handshake(body: &[u8]) -> Response {
    let message = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let reason = "this version has no handshake; ask server/discover";
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, reason, None);
    let answer = json!({"jsonrpc": "2.0", "id": message.get("id"), "error": error});
    (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

fn is_modern(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}
