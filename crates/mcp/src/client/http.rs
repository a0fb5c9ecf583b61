//! The HTTP of connections to MCP servers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use repertoire::http::{HttpClient, HttpError, HttpRequest};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio::sync::mpsc;

const MAX_ANSWER_BYTES: u64 = 64 * 1024 * 1024;

/// The longest that a call may take.
const LIMIT: Duration = Duration::from_secs(600);

/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";

type Fault = StreamableHttpError<Infallible>;

/// Sends requests by a client that blocks, on threads for that.
#[derive(Debug, Clone)]
pub(super) struct BlockingTransport {
    http: HttpClient,
}

impl BlockingTransport {
    pub(super) fn new(http: HttpClient) -> Self {
        Self { http }
    }
}

/// Returns `request` with `headers`. No redirect is followed: a server that moves does not get the headers of
/// the user sent there.
fn prepared(request: HttpRequest, headers: &HashMap<HeaderName, HeaderValue>) -> HttpRequest {
    headers.iter().fold(request.timeout(LIMIT), |request, (name, value)| {
        request.header(name.as_str(), &String::from_utf8_lossy(value.as_bytes()))
    })
}

/// Returns the id of `message` if it asks which versions the server has.
fn discovery_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => {
            matches!(request.request, ClientRequest::DiscoverRequest(_)).then(|| request.id.clone())
        }
        _ => None,
    }
}

/// Returns the answer to the request `id` for the versions of a server, from the message that it sent.
///
/// Servers of older versions refuse it in many ways, mostly without its id, and are initialized then.
fn discovered(
    message: Option<ServerJsonRpcMessage>,
    status: u16,
    id: RequestId,
) -> Result<ServerJsonRpcMessage, Fault> {
    let refusal = match message {
        Some(ServerJsonRpcMessage::Error(refusal)) => refusal.error,
        Some(ServerJsonRpcMessage::Response(response))
            if matches!(response.result, ServerResult::DiscoverResult(_)) =>
        {
            return Ok(ServerJsonRpcMessage::Response(response));
        }
        None if matches!(status, 401 | 403) => return Err(unexpected(status)),
        _ => ErrorData::invalid_request(format!("status {status}"), None),
    };
    Ok(ServerJsonRpcMessage::error(refusal, Some(id)))
}

fn unexpected(status: u16) -> Fault {
    StreamableHttpError::UnexpectedServerResponse(format!("status {status}").into())
}

impl StreamableHttpClient for BlockingTransport {
    type Error = Infallible;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let mut request = prepared(self.http.post(&uri), &custom_headers);
        request = request.header("accept", "text/event-stream, application/json");
        request = request.header("content-type", "application/json");
        let (has_session, discovery) = (session_id.is_some(), discovery_id(&message));
        if let Some(id) = session_id {
            request = request.header(SESSION, &id);
        }
        let body = serde_json::to_vec(&message)?;
        let response = tokio::task::spawn_blocking(move || request.send(body)).await?.map_err(failed)?;
        let status = response.status();
        let session = response.header(SESSION).map(str::to_owned);
        let kind = response.header("content-type").unwrap_or_default();
        match status {
            202 | 204 => Ok(StreamableHttpPostResponse::Accepted),
            404 if has_session => Err(StreamableHttpError::SessionExpired),
            200..=299 if kind.starts_with("text/event-stream") => {
                Ok(StreamableHttpPostResponse::Sse(events(response.into_reader()), session))
            }
            _ => {
                let is_json = kind.starts_with("application/json");
                let text = tokio::task::spawn_blocking(move || whole(response.into_reader())).await??;
                let message = serde_json::from_slice(&text).ok().filter(|_| is_json);
                if let Some(id) = discovery {
                    let answer = discovered(message, status, id);
                    return answer.map(|answer| StreamableHttpPostResponse::Json(answer, None));
                }
                match message {
                    // Errors of the protocol come with other statuses, too.
                    Some(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
                    // Some servers accept a notification with nothing at all.
                    None if text.is_empty() && (200..=299).contains(&status) => {
                        Ok(StreamableHttpPostResponse::Accepted)
                    }
                    None => Err(unexpected(status)),
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
        let request = prepared(self.http.delete(&uri), &custom_headers).header(SESSION, &session_id);
        tokio::task::spawn_blocking(move || request.call()).await?.map_err(failed)?;
        Ok(())
    }

    /// Continues the stream of a call behind its event `last_event_id`. Notifications of the server are not
    /// listened to: the list of its tools is fixed.
    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        let Some(last) = last_event_id else { return Err(StreamableHttpError::ServerDoesNotSupportSse) };
        let mut request = prepared(self.http.get(&uri), &custom_headers);
        request = request.header("accept", "text/event-stream").header("last-event-id", &last);
        if let Some(id) = session_id {
            request = request.header(SESSION, &id);
        }
        let response = tokio::task::spawn_blocking(move || request.call()).await?.map_err(failed)?;
        match response.status() {
            200 => Ok(events(response.into_reader())),
            400..500 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status => Err(unexpected(status)),
        }
    }
}

fn failed(error: HttpError) -> Fault {
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
            // The rest is not waited for any more.
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
