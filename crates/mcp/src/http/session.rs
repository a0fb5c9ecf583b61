//! State of one MCP session that rmcp 3.8 does not keep.
//!
//! - rmcp matches responses to requests by id alone, so two in-flight requests with one id would get each
//!   other's response. [`McpSession::open_request`] refuses the second.
//! - rmcp leaves a second GET stream silent while the first is open, replays every event to a stream without
//!   `Last-Event-ID`, and repeats the last event to one with it. [`EventStream`] corrects all three.

use std::collections::HashSet;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::http::{HeaderMap, Response, StatusCode};
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use hyper::body::{Bytes, Frame};
use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

use super::reply::EndpointResponse;
use crate::tools::Disconnection;

/// Names the last event that a client received.
pub(super) const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Default)]
pub(super) struct McpSession {
    in_flight: Mutex<HashSet<RequestId>>,
    /// Locked while one event stream replaces another.
    pub(super) stream: tokio::sync::Mutex<EventStream>,
}

impl McpSession {
    /// Registers the request `id`; returns none if another request with that id is in flight.
    pub(super) fn open_request(self: &Arc<Self>, id: &RequestId) -> Option<Arc<OpenRequest>> {
        let is_new = self.in_flight().insert(id.clone());
        is_new.then(|| Arc::new(OpenRequest { session: Arc::clone(self), id: id.clone() }))
    }

    fn in_flight(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An in-flight request. Its id is free once the handler and the response have dropped it.
pub(super) struct OpenRequest {
    session: Arc<McpSession>,
    id: RequestId,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.session.in_flight().remove(&self.id);
    }
}

/// A client that waits for the answer to a request. Dropping it before means that the client disconnected.
pub(super) struct WaitingClient {
    /// None once the request is answered.
    request: Option<Arc<OpenRequest>>,
    disconnection: Disconnection,
}

impl WaitingClient {
    pub(super) fn new(request: Arc<OpenRequest>) -> Self {
        Self { request: Some(request), disconnection: Disconnection::default() }
    }

    /// Returns the token that is cancelled when the client disconnects.
    pub(super) fn disconnection(&self) -> Disconnection {
        self.disconnection.clone()
    }

    fn answered(&mut self) {
        self.request = None;
    }
}

impl Drop for WaitingClient {
    fn drop(&mut self) {
        if self.request.is_some() {
            self.disconnection.0.cancel();
        }
    }
}

/// Returns `response`, which releases the request of `client` with its first event: a client may reuse the id
/// as soon as it has the answer, before the stream ends.
pub(super) fn release_when_answered(
    response: EndpointResponse,
    mut client: WaitingClient,
) -> EndpointResponse {
    if response.status() != StatusCode::OK {
        return response;
    }
    response.map(|body| {
        let answered = move |frame: Frame<Bytes>| {
            if !frame.data_ref().is_some_and(is_keep_alive) {
                client.answered();
            }
            frame
        };
        body.map_frame(answered).boxed_unsync()
    })
}

/// Returns whether an event is a comment that only keeps the stream alive.
fn is_keep_alive(event: &Bytes) -> bool {
    event.starts_with(b":")
}

/// Returns `response`, a resumed stream, or none if it ends without an event.
///
/// rmcp answers 200 with an empty stream if there is nothing to resume. Clients would reconnect forever.
pub(super) async fn non_empty(response: EndpointResponse) -> Option<EndpointResponse> {
    let (parts, mut body) = response.into_parts();
    let body = match body.frame().now_or_never() {
        None => body,
        Some(None) => return None,
        Some(Some(first)) => {
            let events = stream::once(ready(first)).chain(BodyStream::new(body));
            StreamBody::new(events).boxed_unsync()
        }
    };
    Some(Response::from_parts(parts, body))
}

#[derive(Default)]
pub(super) struct EventStream {
    /// Index of the first event that was not sent yet.
    next: Arc<AtomicUsize>,
}

impl EventStream {
    /// Returns the index of the event to start with, or none if the request resumes another stream.
    pub(super) fn first_event(&self, headers: &HeaderMap) -> Option<usize> {
        let next = self.next.load(Ordering::Relaxed);
        match headers.get(LAST_EVENT_ID) {
            None => Some(next),
            // Ids of other streams have another form.
            Some(last) => Some(last.to_str().ok()?.parse::<usize>().ok()?.saturating_add(1).min(next)),
        }
    }

    /// Returns `response`, which records the events it sends, holds `session` and ends with `stopping`.
    pub(super) fn follow(
        &self,
        response: EndpointResponse,
        session: &Arc<McpSession>,
        stopping: &CancellationToken,
    ) -> EndpointResponse {
        if response.status() != StatusCode::OK {
            return response;
        }
        let (next, stopping, session) = (Arc::clone(&self.next), stopping.clone(), Arc::clone(session));
        response.map(|body| {
            let events = body.into_data_stream().inspect_ok(move |event| {
                let _held = &session;
                if let Some(index) = event_index(event) {
                    next.fetch_max(index.saturating_add(1), Ordering::Relaxed);
                }
            });
            StreamBody::new(events.map_ok(Frame::data).take_until(stopping.cancelled_owned())).boxed_unsync()
        })
    }
}

/// Returns the index of an event, which its id consists of.
fn event_index(event: &Bytes) -> Option<usize> {
    let mut lines = event.split(|byte| *byte == b'\n');
    let id = lines.find_map(|line| line.strip_prefix(b"id:"))?;
    std::str::from_utf8(id).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::Stream;
    use std::convert::Infallible;

    fn response(events: impl Stream<Item = &'static str> + Send + 'static) -> EndpointResponse {
        let frames =
            events.map(|event| Ok::<_, Infallible>(Frame::data(Bytes::from_static(event.as_bytes()))));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn events(events: &'static [&'static str]) -> EndpointResponse {
        response(stream::iter(events.iter().copied()).chain(stream::pending()))
    }

    #[tokio::test]
    async fn a_request_id_is_free_once_its_answer_is_sent() {
        let session = Arc::new(McpSession::default());
        let (one, other) = (RequestId::Number(1), RequestId::String("1".into()));
        let handled = session.open_request(&one).unwrap();
        assert!(session.open_request(&one).is_none());
        assert!(session.open_request(&other).is_some(), "a string is not a number");
        let client = WaitingClient::new(Arc::clone(&handled));
        let disconnection = client.disconnection();
        let response = release_when_answered(events(&[":\n\n", "data: {}\n\n"]), client);
        let mut answer = response.into_body();
        drop(handled);
        answer.frame().await.unwrap().unwrap();
        assert!(session.open_request(&one).is_none(), "a keep-alive is not an answer");
        answer.frame().await.unwrap().unwrap();
        assert!(session.open_request(&one).is_some(), "the stream need not have ended");
        drop(answer);
        assert!(!disconnection.0.is_cancelled(), "it has its answer");
    }

    #[test]
    fn a_request_id_stays_in_use_while_its_handler_runs_after_a_disconnect() {
        let session = Arc::new(McpSession::default());
        let id = RequestId::Number(1);
        let handled = session.open_request(&id).unwrap();
        let client = WaitingClient::new(Arc::clone(&handled));
        let disconnection = client.disconnection();
        let response = release_when_answered(response(stream::empty()), client);
        assert!(!disconnection.0.is_cancelled());
        drop(response);
        assert!(disconnection.0.is_cancelled());
        assert!(session.open_request(&id).is_none());
        drop(handled);
        assert!(session.open_request(&id).is_some());
    }

    #[tokio::test]
    async fn an_empty_stream_is_distinguished_from_one_with_events() {
        assert!(non_empty(response(stream::empty())).await.is_none());
        let body = non_empty(response(stream::iter(["one", "two"]))).await.unwrap().into_body();
        assert_eq!(body.collect().await.unwrap().to_bytes(), "onetwo");
        assert!(non_empty(response(stream::pending())).await.is_some());
    }

    #[tokio::test]
    async fn an_event_stream_resumes_after_the_last_event_sent() {
        let check = |stream: &EventStream, last: Option<&str>, expect: Option<usize>| {
            let mut headers = HeaderMap::new();
            if let Some(last) = last {
                headers.insert(LAST_EVENT_ID, last.parse().unwrap());
            }
            assert_eq!(stream.first_event(&headers), expect, "{last:?}");
        };
        let stream = EventStream::default();
        check(&stream, None, Some(0));
        let sent = ["data: {\"id\":9}\nid: 0\n\n", ":\n\n", "data: {}\nid: 1\n\n", "data: {}\nid: 2\n\n"];
        let sent = response(stream::iter(sent));
        let (session, stopping) = (Arc::new(McpSession::default()), CancellationToken::new());
        let mut body = stream.follow(sent, &session, &stopping).into_body();
        for _ in 0..3 {
            body.frame().await.unwrap().unwrap();
        }
        check(&stream, None, Some(2));
        check(&stream, Some("0"), Some(1));
        check(&stream, Some("77"), Some(2));
        check(&stream, Some("0/3"), None);
        check(&stream, Some("x"), None);
        stopping.cancel();
        assert!(body.frame().await.is_none(), "the server is stopping");
    }
}
