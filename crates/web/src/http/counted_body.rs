//! A body that counts its bytes.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// A body that tells the length of each of its parts. It has the length and the end of the body inside.
pub(super) struct CountedBody<F> {
    inner: Body,
    count: F,
}

impl<F: FnMut(u64)> CountedBody<F> {
    /// Returns `inner`, which calls `count` with the length of each part.
    pub(super) fn new(inner: Body, count: F) -> Self {
        Self { inner, count }
    }
}

impl<F: FnMut(u64) + Unpin> HttpBody for CountedBody<F> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            (self.count)(data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
