//! Limits the memory of responses that clients have not read yet.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::reply::overloaded;

/// Maximum bytes of a response that are handed to its connection at a time, which buffers them. A smaller
/// response does not count: there are no more of these than connections.
const CHUNK_BYTES: usize = 64 * 1024;

/// The unit of the limit, because a semaphore has fewer permits than a large limit has bytes.
const UNIT_BYTES: usize = 1024;

/// Seconds after which a client may find that other responses have been read.
const RETRY_SECONDS: u32 = 5;

const TOO_MUCH_UNREAD: &str = "too many responses wait to be read";

/// The memory that unread responses may take in total.
#[derive(Clone)]
pub(crate) struct UnreadLimit(Arc<Semaphore>);

impl UnreadLimit {
    /// Returns a limit of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new((bytes / UNIT_BYTES).min(Semaphore::MAX_PERMITS))))
    }

    /// Returns `response`, which counts until the client has read it, or a 503 if too much is unread already.
    pub(super) fn apply(&self, response: Response) -> Response {
        let length = response.body().size_hint().exact().and_then(|length| usize::try_from(length).ok());
        let large = length.filter(|length| *length > CHUNK_BYTES);
        let reserved = large.and_then(|length| self.reserve(length));
        if large.is_some() && reserved.is_none() {
            return refusal();
        }
        response
            .map(|inner| Body::new(UnreadBody { inner, rest: Bytes::new(), reserved, limit: self.clone() }))
    }

    /// Returns a 503 if too much is unread for a response of `bytes` more, so its content need not be read.
    pub(crate) fn refusal_of(&self, bytes: u64) -> Option<Response> {
        self.expect_room(bytes).err().map(|_| refusal())
    }

    /// Fails with the reason if too much is unread already for a response of `bytes` more.
    fn expect_room(&self, bytes: u64) -> Result<(), String> {
        let units = usize::try_from(bytes).map_or(usize::MAX, |bytes| bytes.div_ceil(UNIT_BYTES));
        if bytes <= CHUNK_BYTES as u64 || units <= self.0.available_permits() {
            return Ok(());
        }
        Err(format!("{TOO_MUCH_UNREAD}; retry in {RETRY_SECONDS} seconds"))
    }

    /// Returns a function that fails with the reason if there is no room for a response of that many bytes.
    pub(super) fn room(&self) -> Arc<dyn Fn(u64) -> Result<(), String> + Send + Sync> {
        let limit = self.clone();
        Arc::new(move |bytes| limit.expect_room(bytes))
    }

    fn reserve(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(units).ok()
    }
}

fn refusal() -> Response {
    overloaded(TOO_MUCH_UNREAD, RETRY_SECONDS)
}

/// A body in chunks. A large frame counts until its last byte is freed.
struct UnreadBody {
    inner: Body,
    /// The rest of the last frame.
    rest: Bytes,
    /// The reservation for the first frame of a body whose length is known.
    reserved: Option<OwnedSemaphorePermit>,
    limit: UnreadLimit,
}

struct ReservedBytes {
    bytes: Bytes,
    _reserved: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for UnreadBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            let bytes = match frame.into_data() {
                Ok(bytes) if bytes.len() > CHUNK_BYTES => bytes,
                Ok(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Err(other) => return Poll::Ready(Some(Ok(other))),
            };
            let reserved = self.reserved.take().or_else(|| self.limit.reserve(bytes.len()));
            let Some(_reserved) = reserved else {
                let error = io::Error::other(TOO_MUCH_UNREAD);
                return Poll::Ready(Some(Err(axum::Error::new(error))));
            };
            self.rest = Bytes::from_owner(ReservedBytes { bytes, _reserved });
        }
        let length = self.rest.len().min(CHUNK_BYTES);
        let chunk = self.rest.split_to(length);
        if self.rest.is_empty() {
            // An empty slice would still hold the reservation.
            self.rest = Bytes::new();
        }
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.inner.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use axum::response::IntoResponse as _;
    use futures_util::stream;
    use http_body_util::BodyExt as _;

    const LARGE: usize = 3 * CHUNK_BYTES + 1;

    fn free_bytes(limit: &UnreadLimit) -> usize {
        limit.0.available_permits() * UNIT_BYTES
    }

    #[tokio::test]
    async fn unread_responses_are_limited_in_total() {
        let total = 2 * LARGE.next_multiple_of(UNIT_BYTES);
        let limit = UnreadLimit::new(total);
        let small = || vec![b'x'; CHUNK_BYTES].into_response();
        let large = || limit.apply(vec![b'x'; LARGE].into_response());
        let (first, second) = (large(), large());
        assert_eq!((first.status(), second.status()), (StatusCode::OK, StatusCode::OK));
        assert_eq!(first.body().size_hint().exact(), Some(LARGE as u64));
        let refused = large();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(refused.headers()["retry-after"], "5");
        assert_eq!(limit.apply(small()).status(), StatusCode::OK, "small responses do not count");
        drop(second);
        assert_eq!(large().status(), StatusCode::OK);

        let mut body = first.into_body();
        let mut chunks = Vec::new();
        while let Some(frame) = body.frame().await {
            chunks.push(frame.unwrap().into_data().unwrap());
        }
        assert_eq!(
            chunks.iter().map(Bytes::len).collect::<Vec<_>>(),
            [CHUNK_BYTES, CHUNK_BYTES, CHUNK_BYTES, 1]
        );
        drop(body);
        assert_eq!(free_bytes(&limit), total / 2, "the connection has not sent the chunks yet");
        drop(chunks);
        assert_eq!(free_bytes(&limit), total);
    }

    #[test]
    fn content_is_not_read_for_a_response_that_exceeds_the_limit() {
        let limit = UnreadLimit::new(2 * LARGE);
        let first = limit.apply(vec![b'x'; LARGE].into_response());
        let refused = limit.refusal_of(2 * LARGE as u64).unwrap();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(first);
        assert!(limit.refusal_of(2 * LARGE as u64 - UNIT_BYTES as u64).is_none());
    }

    #[test]
    fn a_large_response_is_refused_before_its_content_is_read() {
        let limit = UnreadLimit::new(2 * LARGE);
        let unread = limit.apply(vec![b'x'; LARGE].into_response());
        assert!(limit.expect_room(CHUNK_BYTES as u64).is_ok());
        assert!(limit.expect_room((LARGE - 2 * UNIT_BYTES) as u64).is_ok());
        for bytes in [2 * LARGE as u64, u64::MAX] {
            let error = limit.expect_room(bytes).unwrap_err();
            assert_eq!(error, "too many responses wait to be read; retry in 5 seconds");
        }
        drop(unread);
        assert!(limit.expect_room((2 * LARGE - UNIT_BYTES) as u64).is_ok());
    }

    #[tokio::test]
    async fn a_stream_ends_if_its_event_exceeds_the_limit() {
        let limit = UnreadLimit::new(LARGE.next_multiple_of(UNIT_BYTES));
        let events = || {
            let events = ["small".into(), "x".repeat(LARGE)].map(Ok::<_, io::Error>);
            limit.apply(Body::from_stream(stream::iter(events)).into_response()).into_body()
        };
        let (mut first, mut second) = (events(), events());
        for body in [&mut first, &mut second] {
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "small");
        }
        assert!(first.frame().await.unwrap().is_ok());
        assert!(second.frame().await.unwrap().is_err());
        drop((first, second));
        assert_eq!(events().collect().await.unwrap().to_bytes().len(), LARGE + "small".len());
    }
}
