//! The endpoint of one caller: of a token, or of all clients if there are no tokens.

use std::sync::Arc;

use ::http::request::Parts;
use ::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Collected, Empty, Full, Limited};
use hyper::body::{Bytes, Frame};
use repertoire::serve::{AgentView, Caller, RequestLimits};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, ProtocolVersion, RequestId};
use rmcp::transport::streamable_http_server::session::SessionStore;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::media;
use super::portable_session::{PendingHandshakes, PortableSession, inner_id};
use super::reply::{EndpointResponse, json_response, refuse};
use super::session::{LAST_EVENT_ID, McpSession, WaitingClient, non_empty, release_when_answered};
use super::sessions::McpSessions;
use crate::Server;
use crate::decode::{DecodedMessage, decode, id_in_use};
use crate::handler::Handler;
use crate::protocol::SUPPORTED_VERSIONS;

/// The header with the session of a request.
const SESSION_ID: &str = "mcp-session-id";

/// The header with the protocol version of a request.
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// The method that starts a session.
const INITIALIZE: &str = "initialize";

const SESSION_NOT_FOUND: &str = "session not found or expired; start one with initialize";

const EVENT_NOT_FOUND: &str =
    "Last-Event-ID is not an event of this session, or is no longer kept; retry without it";

/// Maximum bytes of an error text of rmcp that are passed on.
const MAX_REASON_BYTES: usize = 4096;

/// The kind of a request by its method and body. Headers are not trusted for this.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RequestKind {
    /// A handshake, which starts a session.
    Initialize,
    /// A handshake under a protocol version that has no handshake.
    UnsupportedInitialize,
    /// A GET for the event stream of a session.
    EventStream,
    /// A request that is answered with an event stream.
    Subscription(RequestId),
    /// A request with invalid parameters, and its error response.
    InvalidParams(Value),
    /// Any other request.
    Call(RequestId),
    /// Notifications, DELETE, and bodies that are not a message.
    Other,
}

impl RequestKind {
    fn of(parts: &Parts, body: &[u8]) -> Self {
        if parts.method == Method::GET {
            return Self::EventStream;
        }
        if parts.method != Method::POST {
            return Self::Other;
        }
        let is_stateless = is_stateless(&parts.headers);
        let message = match decode(body) {
            DecodedMessage::Message(message) => message,
            DecodedMessage::BadParams(_) if is_stateless && is_initialize(body) => {
                return Self::UnsupportedInitialize;
            }
            DecodedMessage::BadParams(answer) => return Self::InvalidParams(answer),
            DecodedMessage::Nothing | DecodedMessage::Refused(_) => return Self::Other,
        };
        let JsonRpcMessage::Request(request) = *message else { return Self::Other };
        match request.request.method() {
            INITIALIZE if is_stateless => Self::UnsupportedInitialize,
            // Whichever version it asks for, the answer names one with sessions.
            INITIALIZE => Self::Initialize,
            "subscriptions/listen" => Self::Subscription(request.id),
            _ => Self::Call(request.id),
        }
    }

    /// Returns the id of a request that a session tracks.
    fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::Call(id) | Self::Subscription(id) => Some(id),
            _ => None,
        }
    }

    /// Returns whether the response is an event stream that stays open.
    fn is_stream(&self) -> bool {
        matches!(self, Self::EventStream | Self::Subscription(_))
    }
}

type McpService = StreamableHttpService<Handler, LocalSessionManager>;

/// The endpoint of one caller. Sessions of other callers are out of reach.
pub struct Endpoint {
    caller: Arc<Caller>,
    service: McpService,
    /// Returns the service of another view. All services have the same sessions.
    service_of: Box<dyn Fn(Arc<AgentView>) -> McpService + Send + Sync>,
    sessions: Arc<McpSessions>,
    /// The handshakes of sessions that are taken over.
    handshakes: Arc<PendingHandshakes>,
    stopping: CancellationToken,
}

impl Server {
    /// Returns the endpoint for `caller`. Streams of changes end with `stopping`, all else with `closed`.
    pub fn endpoint(
        &self,
        caller: Arc<Caller>,
        stopping: &CancellationToken,
        closed: &CancellationToken,
    ) -> Endpoint {
        let options = Arc::clone(self.options());
        let mut session = SessionConfig::default();
        session.keep_alive = Some(options.session_time);
        // Clients before 2025-11-25 fail on events without data, which carry the retry interval.
        session.sse_retry = None;
        let mut manager = LocalSessionManager::default();
        manager.session_config = session;
        let manager = Arc::new(manager);
        let handshakes = Arc::new(PendingHandshakes::default());
        // The host has checked Host, Origin and the size of the body.
        let mut config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_sse_retry(None)
            .with_max_request_body_bytes(usize::MAX)
            .with_cancellation_token(closed.clone());
        config.session_store = Some(Arc::clone(&handshakes) as Arc<dyn SessionStore>);
        let sessions =
            McpSessions::new(Arc::clone(&manager), Arc::clone(&options), Arc::clone(self.sessions()));
        let (sender, closing, closed) = (caller.principal.clone(), stopping.clone(), closed.clone());
        let service_of = Box::new(move |view: Arc<AgentView>| {
            let (sender, options) = (sender.clone(), Arc::clone(&options));
            let (closing, closed) = (closing.clone(), closed.clone());
            let handler = move || {
                let handler = Handler::new(Arc::clone(&view), Arc::clone(&options), &closing, closed.clone());
                Ok(handler.with_principal(sender.clone()))
            };
            StreamableHttpService::new(handler, Arc::clone(&manager), config.clone())
        });
        let service = service_of(Arc::clone(&caller.view));
        Endpoint { caller, service, service_of, sessions, handshakes, stopping: stopping.clone() }
    }
}

impl Endpoint {
    /// Answers a request, whose body was read. `None` if the response would be an event stream that stays
    /// open, and `limits` allow no more of these.
    pub async fn answer(&self, request: Request<Bytes>, limits: RequestLimits) -> Option<EndpointResponse> {
        let (mut parts, body) = request.into_parts();
        let kind = RequestKind::of(&parts, &body);
        if !kind.is_stream() {
            parts.extensions.insert(limits);
            return Some(self.answer_kind(parts, body, kind).await);
        }
        let permit = Arc::clone(&limits.streams).try_acquire_owned().ok()?;
        parts.extensions.insert(limits);
        let response = self.answer_kind(parts, body, kind).await;
        if response.status() != StatusCode::OK {
            return Some(response);
        }
        // The permit is dropped with the body.
        let hold = move |frame: Frame<Bytes>| {
            let _held = &permit;
            frame
        };
        Some(response.map(|body| body.map_frame(hold).boxed_unsync()))
    }

    /// Returns the service for a request: one that offers only the skills that its URL names, if any.
    ///
    /// A session keeps the skills that the URL of its handshake named.
    async fn service(&self, parts: &Parts, kind: &RequestKind) -> Result<McpService, EndpointResponse> {
        let view = self.caller.view_of(parts.uri.query()).await;
        let view = view.map_err(|reason| refuse(StatusCode::BAD_REQUEST, &reason))?;
        let is_meant = *kind == RequestKind::Initialize || is_stateless(&parts.headers);
        if is_meant && !Arc::ptr_eq(&view, &self.caller.view) {
            Ok((self.service_of)(view))
        } else {
            Ok(self.service.clone())
        }
    }

    async fn answer_kind(&self, mut parts: Parts, body: Bytes, kind: RequestKind) -> EndpointResponse {
        let method = parts.method.clone();
        media::normalize(&mut parts.headers);
        let service = match self.service(&parts, &kind).await {
            Ok(service) => service,
            Err(response) => return response,
        };
        let starting = match &kind {
            RequestKind::UnsupportedInitialize => return unsupported_initialize(&body),
            RequestKind::InvalidParams(answer) => return json_response(StatusCode::OK, answer),
            RequestKind::Initialize => Some(self.sessions.make_room().await),
            _ => None,
        };
        let outer_id = session_id(&parts.headers).map(str::to_owned);
        let session_id = outer_id.as_deref().map(|id| inner_id(id).to_owned());
        let is_elsewhere = match &outer_id {
            Some(outer) => self.look_elsewhere(outer, &mut parts).await,
            None => false,
        };
        let session = session_id.as_deref().and_then(|id| self.sessions.find(id));
        let mut open = None;
        if let (Some(id), Some(session)) = (kind.request_id(), &session)
            && !is_stateless(&parts.headers)
        {
            let Some(request) = session.open_request(id) else {
                return json_response(StatusCode::BAD_REQUEST, &id_in_use(id));
            };
            let client = WaitingClient::new(Arc::clone(&request));
            parts.extensions.insert(client.disconnection());
            // rmcp keeps the extensions for as long as the handler runs.
            parts.extensions.insert(request);
            open = Some(client);
        }
        let was_open = match &session_id {
            Some(id) => is_elsewhere || self.sessions.is_open(id).await,
            None => false,
        };
        let handshake =
            starting.as_ref().and_then(|_| PortableSession::of_handshake(&body, parts.uri.query()));
        let is_json = media::is_json(&parts.headers);
        let mut response = match (&kind, &session_id, &session) {
            (RequestKind::EventStream, Some(id), Some(session)) => {
                self.event_stream(parts, id, session).await
            }
            _ => {
                let request = Request::from_parts(parts, Full::new(body.clone()));
                service.handle(request).await.map(BodyExt::boxed_unsync)
            }
        };
        if let Some(inner) = self::session_id(response.headers()).map(str::to_owned) {
            let outer = if starting.is_some() {
                self.sessions.started(&inner);
                handshake.and_then(|session| session.id(&inner, self.caller.principal.name.as_deref()))
            } else {
                outer_id
            };
            if let Some(outer) = outer.and_then(|outer| HeaderValue::from_str(&outer).ok()) {
                response.headers_mut().insert(SESSION_ID, outer);
            }
        }
        if let Some(inner) = session_id.filter(|_| method == Method::DELETE) {
            self.sessions.ended(&inner);
        }
        let response = match open {
            Some(client) => release_when_answered(response, client),
            None => response,
        };
        match response.status() {
            // rmcp also accepts the end of a session that does not exist.
            StatusCode::ACCEPTED if method == Method::DELETE && !was_open => {
                refuse(StatusCode::NOT_FOUND, SESSION_NOT_FOUND)
            }
            // The official Python client takes rmcp's 202 for a failure.
            StatusCode::ACCEPTED if method == Method::DELETE => {
                let mut ended = Response::new(Empty::new().boxed_unsync());
                *ended.status_mut() = StatusCode::NO_CONTENT;
                ended
            }
            // rmcp answers 415 to a JSON body that is not a message.
            StatusCode::UNSUPPORTED_MEDIA_TYPE if method == Method::POST && is_json => {
                invalid_message(&body).unwrap_or(response)
            }
            _ => with_own_reason(response, &method).await,
        }
    }

    /// Returns whether the session of a request was started elsewhere, and takes it over unless the request
    /// ends it. rmcp gets the id that it knows.
    async fn look_elsewhere(&self, outer: &str, parts: &mut Parts) -> bool {
        let inner = inner_id(outer);
        if let Ok(known) = HeaderValue::from_str(inner) {
            parts.headers.insert(SESSION_ID, known);
        }
        let portable = PortableSession::parse(outer, self.caller.principal.name.as_deref());
        let Some(portable) = portable.filter(|_| !self.sessions.has_ended(inner)) else { return false };
        if is_stateless(&parts.headers) || self.sessions.is_open(inner).await {
            return false;
        }
        if parts.method != Method::DELETE {
            self.take_over(inner, portable).await;
        }
        true
    }

    /// Goes on with a session of another server, or of this one before a restart.
    async fn take_over(&self, inner: &str, session: PortableSession) {
        let starting = self.sessions.make_room().await;
        if self.sessions.is_open(inner).await {
            // Another request was faster.
            return;
        }
        let service = match self.caller.view_of(session.query.as_deref()).await {
            Ok(view) if Arc::ptr_eq(&view, &self.caller.view) => self.service.clone(),
            Ok(view) => (self.service_of)(view),
            Err(_) => return,
        };
        self.handshakes.add(inner, session.params);
        // rmcp repeats the handshake when it meets a message of the session.
        let message = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let request = Request::post("/mcp")
            .header(header::HOST, "localhost")
            .header(SESSION_ID, inner)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .body(Full::<Bytes>::from(message));
        if let Ok(request) = request {
            service.handle(request).await;
        }
        if self.sessions.is_open(inner).await {
            self.sessions.started(inner);
        }
        // Without it, the session is not found, and the client starts a new one.
        self.handshakes.remove(inner);
        drop(starting);
    }

    /// Answers a GET for the event stream of a session.
    async fn event_stream(&self, mut parts: Parts, id: &str, session: &Arc<McpSession>) -> EndpointResponse {
        let stream = session.stream.lock().await;
        // A request that will be refused must not end the open stream.
        let is_acceptable = accepts_event_stream(&parts.headers);
        let first = stream.first_event(&parts.headers).filter(|_| is_acceptable);
        if let Some(first) = first {
            parts.headers.insert(LAST_EVENT_ID, first.into());
            self.sessions.end_stream(id).await;
        }
        let is_unknown_event = is_acceptable && first.is_none() && !resumes_answer(&parts.headers);
        let request = Request::from_parts(parts, Empty::<Bytes>::new());
        let response = self.service.handle(request).await.map(BodyExt::boxed_unsync);
        if first.is_some() {
            return stream.follow(response, session, &self.stopping);
        }
        if response.status() != StatusCode::OK {
            return response;
        }
        let resumed = if is_unknown_event { None } else { non_empty(response).await };
        resumed.unwrap_or_else(|| refuse(StatusCode::BAD_REQUEST, EVENT_NOT_FOUND))
    }
}

/// Returns whether `Last-Event-ID` has the form of an event of a POST response.
fn resumes_answer(headers: &HeaderMap) -> bool {
    headers.get(LAST_EVENT_ID).is_some_and(|last| last.to_str().is_ok_and(|last| last.contains('/')))
}

/// Returns whether a client accepts an event stream, under a protocol version that has them.
fn accepts_event_stream(headers: &HeaderMap) -> bool {
    let is_known = |version: &HeaderValue| {
        ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| version == known.as_str())
            && !is_stateless(headers)
    };
    media::accepts(headers, media::EVENT_STREAM) && headers.get(PROTOCOL_VERSION).is_none_or(is_known)
}

fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

/// Returns `response` with the terse error text of rmcp replaced by one line that says what to do.
async fn with_own_reason(response: EndpointResponse, method: &Method) -> EndpointResponse {
    if !response.status().is_client_error() || media::is_json(response.headers()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let reason = match parts.status {
        StatusCode::NOT_FOUND => SESSION_NOT_FOUND.into(),
        StatusCode::METHOD_NOT_ALLOWED => "this method is not allowed here; send requests with POST".into(),
        StatusCode::NOT_ACCEPTABLE if method == Method::GET => {
            "the client must accept text/event-stream".into()
        }
        StatusCode::NOT_ACCEPTABLE => {
            "the client must accept both application/json and text/event-stream".into()
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "the body must be of the type application/json".into(),
        _ => {
            let text = Limited::new(body, MAX_REASON_BYTES).collect().await;
            let text = text.map(Collected::to_bytes).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            bad_request_reason(text.trim().strip_prefix("Bad Request: ").unwrap_or(text.trim()))
        }
    };
    let mut refused = refuse(parts.status, &reason);
    if let Some(allowed) = parts.headers.get(header::ALLOW) {
        refused.headers_mut().insert(header::ALLOW, allowed.clone());
    }
    refused
}

/// Returns the message for a request that rmcp calls bad.
fn bad_request_reason(text: &str) -> String {
    match text {
        "" => "bad request".to_owned(),
        "Session ID is required" => "no session; start one with initialize and send its Mcp-Session-Id, or send MCP-Protocol-Version: \
             2026-07-28, which has no sessions"
            .to_owned(),
        _ if text.contains("MCP-Protocol-Version") => {
            let versions: Vec<&str> =
                SUPPORTED_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
            format!("unknown MCP-Protocol-Version; send one of {}", versions.join(", "))
        }
        _ => text.to_owned(),
    }
}

fn invalid_message(body: &[u8]) -> Option<EndpointResponse> {
    match decode(body) {
        DecodedMessage::Message(_) => None,
        DecodedMessage::Nothing => Some(refuse(StatusCode::BAD_REQUEST, "the body holds no request")),
        DecodedMessage::Refused(answer) | DecodedMessage::BadParams(answer) => {
            Some(json_response(StatusCode::BAD_REQUEST, &answer))
        }
    }
}

/// Returns the response to `initialize` under a protocol version without a handshake.
fn unsupported_initialize(body: &[u8]) -> EndpointResponse {
    let message = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let reason = "this protocol version has no handshake; call server/discover";
    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, reason, None);
    let answer = json!({"jsonrpc": "2.0", "id": message.get("id"), "error": error});
    json_response(StatusCode::NOT_FOUND, &answer)
}

fn is_initialize(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|message| message["method"] == INITIALIZE)
}

/// Returns whether the headers name a protocol version without sessions.
fn is_stateless(headers: &HeaderMap) -> bool {
    let version = headers.get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}
