//! The HTTP of connections to MCP servers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio::sync::mpsc;

/// The most bytes of one answer.
const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;

/// The longest that a call may take.
const LIMIT: Duration = Duration::from_secs(600);

/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";

type Fault = StreamableHttpError<Infallible>;

/// Sends requests by a client that blocks, on threads for that.
#[derive(Debug, Clone)]
pub(super) struct HttpClient {
    agent: ureq::Agent,
}

impl HttpClient {
    pub(super) fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(LIMIT))
            // A server that moves does not get the headers of the user sent there.
            .max_redirects(0)
            .max_redirects_will_error(false);
        Self { agent: config.build().new_agent() }
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = Infallible;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let mut request = self.agent.post(&*uri).header("accept", "text/event-stream, application/json");
        request = request.header("content-type", "application/json");
        let has_session = session_id.is_some();
        if let Some(id) = session_id {
            request = request.header(SESSION, &*id);
        }
        for (name, value) in &custom_headers {
            request = request.header(name, value);
        }
        let body = serde_json::to_vec(&message)?;
        let response = tokio::task::spawn_blocking(move || request.send(body)).await?.map_err(failed)?;
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let session = header(SESSION).map(str::to_owned);
        let kind = header("content-type").unwrap_or_default();
        match status {
            202 | 204 => Ok(StreamableHttpPostResponse::Accepted),
            404 if has_session => Err(StreamableHttpError::SessionExpired),
            200..=299 if kind.starts_with("text/event-stream") => {
                Ok(StreamableHttpPostResponse::Sse(events(body.into_reader()), session))
            }
            _ => {
                let is_json = kind.starts_with("application/json");
                let text = tokio::task::spawn_blocking(move || whole(body.into_reader())).await??;
                match serde_json::from_slice(&text) {
                    // Errors of the protocol come with other statuses, too.
                    Ok(message) if is_json => Ok(StreamableHttpPostResponse::Json(message, session)),
                    // Some servers accept a notification with nothing at all.
                    _ if text.is_empty() && (200..=299).contains(&status) => {
                        Ok(StreamableHttpPostResponse::Accepted)
                    }
                    _ => {
                        Err(StreamableHttpError::UnexpectedServerResponse(format!("status {status}").into()))
                    }
                }
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let mut request = self.agent.delete(&*uri).header(SESSION, &*session_id);
        for (name, value) in &custom_headers {
            request = request.header(name, value);
        }
        tokio::task::spawn_blocking(move || request.call()).await?.map_err(failed)?;
        Ok(())
    }

    /// Notifications of the server are not listened to: the list of its tools is fixed.
    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session_id: Option<Arc<str>>,
        _last_event_id: Option<String>,
        _auth_header: Option<String>,
        _custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

fn failed(error: ureq::Error) -> Fault {
    StreamableHttpError::Io(io::Error::other(error.to_string()))
}

fn whole(body: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    body.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the events of an answer as they arrive.
fn events(body: impl Read + Send + 'static) -> BoxStream<'static, Result<Sse, SseError>> {
    let (sender, receiver) = mpsc::channel::<io::Result<Vec<u8>>>(16);
    tokio::task::spawn_blocking(move || {
        let mut body = body.take(MAX_ANSWER_BYTES);
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let piece = match body.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => Ok(buffer[..length].to_vec()),
                Err(error) => Err(error),
            };
            let is_last = piece.is_err();
            // Nobody waits for the rest any more.
            if sender.blocking_send(piece).is_err() || is_last {
                return;
            }
        }
    });
    let pieces = futures_util::stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece.map(std::collections::VecDeque::from), receiver))
    });
    SseStream::from_bytes_stream(pieces).boxed()
}
