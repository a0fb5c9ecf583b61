//! MCP for whoever has one token, or for everybody where there is none.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rmcp::model::{ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, answering, not_over};
use super::conversations::Conversations;
use super::limits::refuse;
use super::media;
use super::options::Limits;
use super::standalone::LAST_EVENT_ID;
use crate::audience::Audience;
use crate::mcp::{Decoded, Handler, decode, id_in_use, may_run};

/// Names the conversation that a request belongs to.
const SESSION_ID: &str = "mcp-session-id";

/// Names the version of the protocol that a request is in.
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// The method that begins a conversation.
const HANDSHAKE: &str = "initialize";

/// What is said of a conversation that is not there.
const NO_CONVERSATION: &str = "there is no such conversation, or no longer; begin one with initialize";

/// What is said of an event that is not there.
const NO_EVENT: &str = "Last-Event-ID names no event of this conversation, or one that is not kept any more; ask again without it";

/// The most bytes of a reason of rmcp's that are passed on.
const MAX_REASON_BYTES: usize = 4096;

/// What a request asks for, as far as it matters how much of it there is. Its body says so: headers may say anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// A handshake, which begins a conversation.
    Handshake,
    /// A handshake that says in its head that it is in a version without.
    HandshakeOfToday,
    /// A stream that lasts until there is something to tell, and longer.
    Stream,
    /// The same, as the answer to a request.
    Subscription(RequestId),
    /// Something whose parameters are none, with the answer to it.
    Nonsense(Value),
    /// The answer to a request.
    Answer(RequestId),
    /// What a tool answers, which may take as long as what it runs.
    Call(RequestId, String),
    /// Anything else.
    Nothing,
}

impl Asked {
    /// Returns what a request with this body asks for.
    pub(super) fn of(parts: &Parts, body: &[u8]) -> Self {
        if parts.method == Method::GET {
            return Self::Stream;
        }
        if parts.method != Method::POST {
            return Self::Nothing;
        }
        let is_modern = is_modern(&parts.headers);
        let message = match decode(body) {
            Decoded::Message(message) => message,
            Decoded::BadParams(_) if is_modern && is_handshake(body) => return Self::HandshakeOfToday,
            Decoded::BadParams(answer) => return Self::Nonsense(answer),
            Decoded::Nothing | Decoded::Refused(_) => return Self::Nothing,
        };
        let JsonRpcMessage::Request(request) = *message else { return Self::Nothing };
        if let ClientRequest::CallToolRequest(call) = request.request {
            return Self::Call(request.id, call.params.name.into_owned());
        }
        match request.request.method() {
            HANDSHAKE if is_modern => Self::HandshakeOfToday,
            // Whatever version it asks for, it is answered with one that has handshakes.
            HANDSHAKE => Self::Handshake,
            "subscriptions/listen" => Self::Subscription(request.id),
            _ => Self::Answer(request.id),
        }
    }

    /// Returns the request that is to be answered.
    fn request(&self) -> Option<&RequestId> {
        match self {
            Self::Answer(id) | Self::Call(id, _) | Self::Subscription(id) => Some(id),
            Self::Handshake | Self::HandshakeOfToday | Self::Stream | Self::Nonsense(_) | Self::Nothing => {
                None
            }
        }
    }

    /// Returns whether it is a stream that lasts.
    pub(super) fn lasts(&self) -> bool {
        matches!(self, Self::Stream | Self::Subscription(_))
    }
}

/// MCP for one principal. Conversations of one are out of reach of all others.
pub(super) struct Endpoint {
    pub(super) audience: Arc<Audience>,
    service: StreamableHttpService<Handler, LocalSessionManager>,
    conversations: Conversations,
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
        // Events without a message, which tell when to come back, are no JSON to clients of before.
        session.sse_retry = None;
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = session;
        let sessions = Arc::new(sessions);
        // Host and Origin were looked at before anything gets here.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_sse_retry(None)
            .with_max_request_body_bytes(limits.body_bytes)
            .with_cancellation_token(closed.clone());
        let (served, closing) = (Arc::clone(&audience), closing.clone());
        let handler = move || Ok(Handler::new(Arc::clone(&served), &closing));
        let service = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        Self { audience, service, conversations: Conversations::new(sessions, limits.sessions) }
    }

    /// Returns whether what is asked for may run something of a skill.
    pub(super) fn may_run(&self, asked: &Asked) -> bool {
        matches!(asked, Asked::Call(_, tool) if may_run(&self.audience.session, tool))
    }

    /// Answers a request whose body is `body` and asks for `asked`.
    pub(super) async fn answer(&self, mut parts: Parts, body: Bytes, asked: Asked) -> Response {
        let method = parts.method.clone();
        media::in_plain_words(&mut parts.headers);
        let beginning = match &asked {
            Asked::HandshakeOfToday => return no_handshake(&body),
            Asked::Nonsense(answer) => return json_answer(StatusCode::OK, answer),
            Asked::Handshake => Some(self.conversations.make_room().await),
            Asked::Stream | Asked::Subscription(_) | Asked::Answer(_) | Asked::Call(..) | Asked::Nothing => {
                None
            }
        };
        let conversation = conversation_id(&parts.headers).and_then(|id| self.conversations.used_now(id));
        let mut open = None;
        if let (Some(id), Some(conversation)) = (asked.request(), &conversation)
            && !is_modern(&parts.headers)
        {
            let Some(request) = conversation.open(id) else {
                return json_answer(StatusCode::BAD_REQUEST, &id_in_use(id));
            };
            // Whoever works on the request holds on to its head.
            parts.extensions.insert(Arc::clone(&request));
            open = Some(request);
        }
        let was_there = match conversation_id(&parts.headers) {
            Some(id) => self.conversations.has(id).await,
            None => false,
        };
        let is_json = media::is_json(&parts.headers);
        let response = match (&asked, &conversation) {
            (Asked::Stream, Some(conversation)) => self.stream(parts, conversation).await,
            _ => {
                let request = Request::from_parts(parts, Body::from(body.clone()));
                self.service.handle(request).await.into_response()
            }
        };
        if beginning.is_some()
            && let Some(id) = conversation_id(response.headers())
        {
            self.conversations.begun(id);
        }
        let response = match open {
            Some(open) => answering(response, open),
            None => response,
        };
        match response.status() {
            // rmcp ends what is not there, too.
            StatusCode::ACCEPTED if method == Method::DELETE && !was_there => {
                refuse(StatusCode::NOT_FOUND, NO_CONVERSATION)
            }
            // A conversation that was ended is over. The official Python client takes rmcp's 202 for a failure.
            StatusCode::ACCEPTED if method == Method::DELETE => StatusCode::NO_CONTENT.into_response(),
            // rmcp says of a body that is no message that its type is wrong, though it is the right one.
            StatusCode::UNSUPPORTED_MEDIA_TYPE if method == Method::POST && is_json => {
                no_message(&body).unwrap_or(response)
            }
            _ => in_own_words(response, &method).await,
        }
    }

    /// Answers a request for a stream of `conversation`.
    async fn stream(&self, mut parts: Parts, conversation: &Conversation) -> Response {
        let mut stream = conversation.stream.lock().await;
        // Whoever is refused ends nothing.
        let is_taken = may_have_stream(&parts.headers);
        let first = stream.first_event(&parts.headers).filter(|_| is_taken);
        if let Some(first) = first {
            parts.headers.insert(LAST_EVENT_ID, first.into());
            stream.end();
        }
        let names_nothing = is_taken && first.is_none() && !names_answer(&parts.headers);
        let response = self.service.handle(Request::from_parts(parts, Body::empty())).await.into_response();
        match first {
            Some(_) => stream.begun(response),
            None if response.status() != StatusCode::OK => response,
            None if names_nothing => refuse(StatusCode::BAD_REQUEST, NO_EVENT),
            None => not_over(response).await.unwrap_or_else(|| refuse(StatusCode::BAD_REQUEST, NO_EVENT)),
        }
    }
}

/// Returns whether the last event that a client has is one of an answer, as far as its form tells.
fn names_answer(headers: &HeaderMap) -> bool {
    headers.get(LAST_EVENT_ID).is_some_and(|last| last.to_str().is_ok_and(|last| last.contains('/')))
}

/// Returns whether a client takes a stream, in a version that has them.
fn may_have_stream(headers: &HeaderMap) -> bool {
    let is_known = |version: &HeaderValue| {
        ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| version == known.as_str()) && !is_modern(headers)
    };
    media::accepts(headers, media::EVENTS) && headers.get(PROTOCOL_VERSION).is_none_or(is_known)
}

/// Returns the conversation that headers name.
fn conversation_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

/// Returns what rmcp refuses with a word or two as everything else is refused: with one line that says what to do.
async fn in_own_words(response: Response, method: &Method) -> Response {
    let is_refused = response.status().is_client_error();
    if !is_refused || media::is_json(response.headers()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let reason = match parts.status {
        StatusCode::NOT_FOUND => NO_CONVERSATION.into(),
        StatusCode::METHOD_NOT_ALLOWED => "this method is not allowed here; send requests with POST".into(),
        StatusCode::NOT_ACCEPTABLE if method == Method::GET => {
            "the client must accept text/event-stream".into()
        }
        StatusCode::NOT_ACCEPTABLE => {
            "the client must accept both application/json and text/event-stream".into()
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "the body must be of the type application/json".into(),
        _ => {
            let said = axum::body::to_bytes(body, MAX_REASON_BYTES).await.unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            what_to_do(said.trim().strip_prefix("Bad Request: ").unwrap_or(said.trim()))
        }
    };
    let mut refused = refuse(parts.status, &reason);
    if let Some(allowed) = parts.headers.get(header::ALLOW) {
        refused.headers_mut().insert(header::ALLOW, allowed.clone());
    }
    refused
}

/// Returns what to do about a request of which rmcp says that it is bad.
fn what_to_do(said: &str) -> String {
    let versions =
        || ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>().join(", ");
    match said {
        "" => "the request is not as it should be".to_owned(),
        "Session ID is required" => "the request belongs to no conversation; begin one with initialize and name it in Mcp-Session-Id, or send \
             MCP-Protocol-Version: 2026-07-28, which has none"
            .to_owned(),
        _ if said.contains("MCP-Protocol-Version") => {
            format!("this MCP-Protocol-Version is not known; send one of {}", versions())
        }
        _ => said.to_owned(),
    }
}

/// Returns the answer to a body that is no message.
fn no_message(body: &[u8]) -> Option<Response> {
    match decode(body) {
        Decoded::Message(_) => None,
        Decoded::Nothing => Some(refuse(StatusCode::BAD_REQUEST, "the body holds no request")),
        Decoded::Refused(answer) | Decoded::BadParams(answer) => {
            Some(json_answer(StatusCode::BAD_REQUEST, &answer))
        }
    }
}

fn json_answer(status: StatusCode, answer: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

/// Returns the answer to a handshake in a version that has none.
fn no_handshake(body: &[u8]) -> Response {
    let message = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let reason = "this version has no handshake; ask server/discover";
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, reason, None);
    let answer = json!({"jsonrpc": "2.0", "id": message.get("id"), "error": error});
    json_answer(StatusCode::NOT_FOUND, &answer)
}

/// Returns whether a request is for a handshake, whatever else it says.
fn is_handshake(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|message| message["method"] == HANDSHAKE)
}

fn is_modern(headers: &HeaderMap) -> bool {
    let version = headers.get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}
