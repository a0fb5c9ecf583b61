//! How much is done at a time.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::bodies::{Bodies, Refused, Taken, hear_out};
use super::options::Limits;

/// In how many seconds there may be room for a request again.
pub(super) const SOON: u32 = 1;

/// More requests than anybody can have under way.
const BUSY: u32 = 1 << 20;

/// How long the rest of a body is waited for when the server is stopped.
const LAST_BYTES: Duration = Duration::from_millis(500);

/// The most bytes of an answer that are handed on at once: hyper takes as many as it is given, and then knows no more of the body.
const PIECE_BYTES: usize = 64 * 1024;

/// For how many requests that are worked on at a time one installer is served.
const DOWNLOADS: usize = 4;

/// What is free of everything that is limited.
#[derive(Debug)]
pub(super) struct Room {
    limits: Limits,
    stopping: CancellationToken,
    bodies: Bodies,
    requests: Arc<Semaphore>,
    runs: Arc<Semaphore>,
    downloads: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    busy: Arc<Semaphore>,
}

impl Room {
    /// Returns all the room that `limits` leave, for a server that is stopped with `stopping`.
    pub(super) fn new(limits: Limits, stopping: CancellationToken) -> Self {
        Self {
            limits,
            stopping,
            bodies: Bodies::new(&limits),
            requests: Arc::new(Semaphore::new(limits.requests)),
            runs: Arc::new(Semaphore::new(limits.runs)),
            downloads: Arc::new(Semaphore::new(limits.requests.div_ceil(DOWNLOADS))),
            streams: Arc::new(Semaphore::new(limits.streams)),
            busy: Arc::new(Semaphore::new(BUSY as usize)),
        }
    }

    /// Waits until a request may be worked on; none where that takes as long as a body may.
    pub(super) async fn request(&self) -> Option<OwnedSemaphorePermit> {
        let request = Arc::clone(&self.requests).acquire_owned();
        tokio::time::timeout(self.limits.body_time, request).await.ok()?.ok()
    }

    /// Waits until something of a skill may be run; none where that takes as long as a body may. What is merely read need not wait
    /// behind it.
    pub(super) async fn run(&self) -> Option<OwnedSemaphorePermit> {
        let run = Arc::clone(&self.runs).acquire_owned();
        tokio::time::timeout(self.limits.body_time, run).await.ok()?.ok()
    }

    /// Waits until something may be packed for an installer; none where that takes as long as a body may. What agents ask for need
    /// not wait behind it.
    pub(super) async fn download(&self) -> Option<OwnedSemaphorePermit> {
        let download = Arc::clone(&self.downloads).acquire_owned();
        tokio::time::timeout(self.limits.body_time, download).await.ok()?.ok()
    }

    /// Returns what is held while something is under way that a stopped server still finishes.
    pub(super) fn busy(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.busy).try_acquire_owned().ok()
    }

    /// Waits until nothing is under way, no longer than is allowed.
    pub(super) async fn idle(&self) {
        let _ = tokio::time::timeout(self.limits.grace, self.busy.acquire_many(BUSY)).await;
    }

    /// Returns the bytes of `body` and the room they take, or the answer to one that is too large or too slow.
    pub(super) async fn read(&self, headers: &HeaderMap, mut body: Body) -> Result<Taken, Response> {
        let deadline = Instant::now() + self.limits.body_time;
        // What was not asked by then is not under way.
        let cut_off = async {
            self.stopping.cancelled().await;
            sleep(LAST_BYTES).await;
        };
        let mut cut_off = std::pin::pin!(cut_off);
        let read = tokio::select! {
            read = timeout_at(deadline, self.bodies.take(&mut body)) => read,
            () = &mut cut_off => return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is being stopped")),
        };
        match read {
            Ok(Ok(taken)) => Ok(taken),
            // Whoever asks beforehand sends nothing before it is told.
            Ok(Err(Refused::DeclaredTooLarge)) if asks_beforehand(headers) => Err(self.too_large()),
            Ok(Err(Refused::DeclaredTooLarge | Refused::TooLarge)) => {
                tokio::select! {
                    _ = timeout_at(deadline, hear_out(&mut body)) => {}
                    () = cut_off => {}
                }
                Err(self.too_large())
            }
            Ok(Err(Refused::NoRoom)) => {
                let reason = "there are too many large bodies at a time; send less, or the same again later";
                Err(busy_answer(reason, SOON))
            }
            Ok(Err(Refused::Unreadable)) => Err(refuse(StatusCode::BAD_REQUEST, "the body cannot be read")),
            Err(_) => Err(refuse(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
        }
    }

    fn too_large(&self) -> Response {
        let reason = format!("the body is too large; send at most {} bytes", self.limits.body_bytes);
        let mut response = refuse(StatusCode::PAYLOAD_TOO_LARGE, &reason);
        // Some of the body may not have been read.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        response
    }

    /// Returns what is held by a stream that waits for changes; none where there are too many.
    pub(super) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }
}

/// Returns `response`, which gives `held` back when the last of it is on its way, or nobody waits for it any more.
pub(super) fn hold(response: Response, held: impl Send + Unpin + 'static) -> Response {
    response.map(|body| Body::new(Held { body, rest: Bytes::new(), _held: held }))
}

/// A body that holds something for as long as it lasts.
struct Held<T> {
    body: Body,
    /// What was taken of the body and is not on its way yet.
    rest: Bytes,
    _held: T,
}

impl<T: Unpin> HttpBody for Held<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)?) else {
                return Poll::Ready(None);
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let length = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(inner.lower().saturating_add(rest));
        hint
    }
}

/// Returns whether a client waits for a word before it sends the body.
fn asks_beforehand(headers: &HeaderMap) -> bool {
    headers
        .get(header::EXPECT)
        .is_some_and(|expected| expected.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Returns the answer that there is no room just now, and may be in `seconds`.
pub(super) fn busy_answer(reason: &str, seconds: u32) -> Response {
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, reason);
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    // Whoever is sent away must not keep the place of somebody else.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Returns the answer that a request is refused.
pub(super) fn refuse(status: StatusCode, reason: &str) -> Response {
    (status, format!("{reason}\n")).into_response()
}
