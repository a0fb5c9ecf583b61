//! One conversation of a client that shook hands, as far as rmcp does not keep it in order.

use std::collections::HashSet;
use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyStream, StreamBody};
use hyper::body::{Frame, SizeHint};
use rmcp::model::RequestId;

use super::standalone::Standalone;

/// One conversation of a client that shook hands.
#[derive(Default)]
pub(super) struct Conversation {
    /// The requests that are not answered yet: rmcp finds the one that an answer belongs to by its id alone.
    open: Mutex<HashSet<RequestId>>,
    /// Held while a stream takes the place of another, so that there is one.
    pub(super) stream: tokio::sync::Mutex<Standalone>,
}

impl Conversation {
    /// Notes that the request `id` is to be answered; none where another one with that id still is.
    pub(super) fn open(self: &Arc<Self>, id: &RequestId) -> Option<Arc<Open>> {
        let is_new = self.ids().insert(id.clone());
        is_new.then(|| Arc::new(Open { conversation: Arc::clone(self), id: id.clone() }))
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is not answered yet. It is held by whoever works on it, even if nobody waits for the answer any more, and by the
/// answer until it is on its way; then its id is free.
pub(super) struct Open {
    conversation: Arc<Conversation>,
    id: RequestId,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.conversation.ids().remove(&self.id);
    }
}

/// Returns `response`, the answer to `open`.
pub(super) fn answering(response: Response, open: Arc<Open>) -> Response {
    response.map(|body| Body::new(Answering { body, open: Some(open) }))
}

/// An answer, as one event of a stream.
struct Answering {
    body: Body,
    open: Option<Arc<Open>>,
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = task::ready!(Pin::new(&mut self.body).poll_frame(context));
        let is_kept_alive = matches!(&frame, Some(Ok(frame)) if frame.data_ref().is_some_and(is_comment));
        // A client may use the id again as soon as it has the answer, before the stream ends.
        if !is_kept_alive {
            self.open = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Returns `response`, a stream that was asked for again; none where it is over before anything was told.
///
/// rmcp answers so where there is nothing to resume, and clients would ask again and again.
pub(super) async fn not_over(response: Response) -> Option<Response> {
    let (parts, mut body) = response.into_parts();
    let first = poll_fn(|context| Poll::Ready(Pin::new(&mut body).poll_frame(context))).await;
    let body = match first {
        Poll::Pending => body,
        Poll::Ready(None) => return None,
        Poll::Ready(Some(first)) => {
            let first = stream::once(ready(first));
            Body::new(StreamBody::new(first.chain(BodyStream::new(body))))
        }
    };
    Some(Response::from_parts(parts, body))
}

/// Returns whether an event says nothing but that the stream is alive.
fn is_comment(event: &Bytes) -> bool {
    event.starts_with(b":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;
    use http_body_util::BodyExt as _;
    use std::convert::Infallible;

    #[tokio::test]
    async fn an_id_is_taken_until_its_answer_is_on_its_way() {
        let conversation = Arc::new(Conversation::default());
        let (one, other) = (RequestId::Number(1), RequestId::String("1".into()));
        let worked_on = conversation.open(&one).unwrap();
        assert!(conversation.open(&one).is_none());
        assert!(conversation.open(&other).is_some(), "a text is no number");
        let events = stream::iter([":\n\n", "data: {}\n\n"]).map(Ok::<_, Infallible>);
        let response = Body::from_stream(events.chain(stream::pending())).into_response();
        let mut answer = answering(response, Arc::clone(&worked_on)).into_body();
        drop(worked_on);
        answer.frame().await.unwrap().unwrap();
        assert!(conversation.open(&one).is_none(), "it is only kept alive");
        answer.frame().await.unwrap().unwrap();
        assert!(conversation.open(&one).is_some(), "the stream need not have ended");
    }

    #[test]
    fn an_id_is_taken_while_its_request_is_worked_on_for_nobody() {
        let conversation = Arc::new(Conversation::default());
        let id = RequestId::Number(1);
        let worked_on = conversation.open(&id).unwrap();
        drop(answering(Body::empty().into_response(), Arc::clone(&worked_on)));
        assert!(conversation.open(&id).is_none());
        drop(worked_on);
        assert!(conversation.open(&id).is_some());
    }

    #[tokio::test]
    async fn a_stream_is_told_apart_from_one_that_is_over() {
        let answer = |events: &'static [&'static str]| {
            Body::from_stream(stream::iter(events).map(|event| Ok::<_, Infallible>(*event))).into_response()
        };
        assert!(not_over(answer(&[])).await.is_none());
        let told = not_over(answer(&["one", "two"])).await.unwrap().into_body().collect().await.unwrap();
        assert_eq!(told.to_bytes(), "onetwo");
        let waiting = Body::from_stream(stream::pending::<Result<&str, Infallible>>()).into_response();
        assert!(not_over(waiting).await.is_some());
    }
}
