//! The stream that a client which shook hands asks for to be told of changes: the newest counts, and nothing is told twice.
//!
//! rmcp leaves a second stream without a word for as long as it lasts, even after the first has ended, tells whoever asks anew
//! everything again, and the last event again to those who say which one they have.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// Names the last event that a client has.
pub(super) const LAST_EVENT_ID: &str = "last-event-id";

/// The stream of one conversation.
#[derive(Default)]
pub(super) struct Standalone {
    /// The first event that was not sent yet.
    next: Arc<AtomicUsize>,
    open: Weak<Mutex<State>>,
}

impl Standalone {
    /// Returns the event that a request begins with; none where it asks for another stream than this one.
    pub(super) fn first_event(&self, headers: &HeaderMap) -> Option<usize> {
        let next = self.next.load(Ordering::Relaxed);
        match headers.get(LAST_EVENT_ID) {
            None => Some(next),
            // Answers that are resumed have events of another form.
            Some(last) => Some(last.to_str().ok()?.parse::<usize>().ok()?.saturating_add(1).min(next)),
        }
    }

    /// Ends the stream that is open, at once.
    pub(super) fn end(&mut self) {
        let Some(open) = self.open.upgrade() else { return };
        let (body, waker) = {
            let mut state = lock(&open);
            (state.body.take(), state.waker.take())
        };
        drop(body);
        // Whoever sends it learns that there is no more.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns `response`, which is the stream from now on if it is one.
    pub(super) fn begun(&mut self, response: Response) -> Response {
        if response.status() != StatusCode::OK {
            return response;
        }
        response.map(|body| {
            let state = Arc::new(Mutex::new(State { body: Some(body), waker: None }));
            self.open = Arc::downgrade(&state);
            Body::new(Told { state, next: Arc::clone(&self.next) })
        })
    }
}

/// What is left of a stream.
struct State {
    /// None once it was ended.
    body: Option<Body>,
    waker: Option<Waker>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that can be ended, and that notes what it told.
struct Told {
    state: Arc<Mutex<State>>,
    next: Arc<AtomicUsize>,
}

impl HttpBody for Told {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut state = lock(&self.state);
        let Some(body) = &mut state.body else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(context);
        match &frame {
            Poll::Pending => state.waker = Some(context.waker().clone()),
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(index) = frame.data_ref().and_then(event_id) {
                    self.next.fetch_max(index.saturating_add(1), Ordering::Relaxed);
                }
            }
            Poll::Ready(_) => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.state).body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// Returns which event of the stream it is.
fn event_id(event: &Bytes) -> Option<usize> {
    let mut lines = event.split(|byte| *byte == b'\n');
    let id = lines.find_map(|line| line.strip_prefix(b"id:"))?;
    std::str::from_utf8(id).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;
    use futures_util::{StreamExt as _, stream};
    use http_body_util::BodyExt as _;
    use std::convert::Infallible;

    fn events(events: &'static [&'static str]) -> Response {
        let events = stream::iter(events).map(|event| Ok::<_, Infallible>(*event));
        Body::from_stream(events.chain(stream::pending())).into_response()
    }

    #[tokio::test]
    async fn what_was_told_is_not_told_again() {
        let check = |stream: &Standalone, last: Option<&str>, expect: Option<usize>| {
            let mut headers = HeaderMap::new();
            if let Some(last) = last {
                headers.insert(LAST_EVENT_ID, last.parse().unwrap());
            }
            assert_eq!(stream.first_event(&headers), expect, "{last:?}");
        };
        let mut stream = Standalone::default();
        check(&stream, None, Some(0));
        let mut body = stream
            .begun(events(&[
                "data: {\"id\":9}\nid: 0\n\n",
                ":\n\n",
                "data: {}\nid: 1\n\n",
                "data: {}\nid: 2\n\n",
            ]))
            .into_body();
        for _ in 0..3 {
            body.frame().await.unwrap().unwrap();
        }
        check(&stream, None, Some(2));
        check(&stream, Some("0"), Some(1));
        check(&stream, Some("77"), Some(2));
        check(&stream, Some("0/3"), None);
        check(&stream, Some("x"), None);
    }

    #[tokio::test]
    async fn a_stream_that_is_ended_is_gone_at_once() {
        let mut stream = Standalone::default();
        let (sender, receiver) = tokio::sync::mpsc::channel::<Result<&'static str, Infallible>>(1);
        let inner = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
        let mut body = stream.begun(Body::from_stream(inner).into_response()).into_body();
        let reading = tokio::spawn(async move { body.frame().await.is_none() });
        tokio::task::yield_now().await;
        stream.end();
        assert!(sender.is_closed());
        assert!(reading.await.unwrap(), "whoever waits is told");
    }
}
