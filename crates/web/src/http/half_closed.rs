//! Answers clients that close their side of a connection once they have sent a request.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use http_body_util::BodyExt as _;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The time from the end of what a client sends until it counts as gone, and its request is cancelled. A
/// client that is gone and one that still reads look the same until something is sent.
const HALF_CLOSED: Duration = Duration::from_secs(2);

/// A connection with a request that is not answered yet. All clones are about one connection.
#[derive(Clone, Default)]
pub(super) struct InFlight(Arc<()>);

impl InFlight {
    /// Returns whether there is a request: the reader and the service have one clone each.
    fn is_any(&self) -> bool {
        Arc::strong_count(&self.0) > 2
    }

    /// Returns the answer of `future`; there is a request until its body ends.
    pub(super) async fn answered(
        self,
        future: impl Future<Output = Result<Response<Body>, Infallible>>,
    ) -> Result<Response<Body>, Infallible> {
        let hold = move |frame| {
            let _held = &self;
            frame
        };
        Ok(future.await?.map(|body| Body::new(body.map_frame(hold))))
    }
}

/// Reads the bytes of a client. While a request is in flight, the end of the input is reported late.
pub(super) struct HalfClosedReader<R> {
    pub(super) inner: R,
    pub(super) in_flight: InFlight,
    pub(super) end: Option<Pin<Box<Sleep>>>,
}

impl<R: AsyncRead + Unpin> AsyncRead for HalfClosedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.end.is_none() {
            let before = buffer.filled().len();
            std::task::ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
            if buffer.filled().len() > before || !this.in_flight.is_any() {
                return Poll::Ready(Ok(()));
            }
        }
        let end = this.end.get_or_insert_with(|| Box::pin(sleep(HALF_CLOSED)));
        if this.in_flight.is_any() { end.as_mut().poll(context).map(Ok) } else { Poll::Ready(Ok(())) }
    }
}
