//! Reads request bodies with a size limit and a deadline.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::options::HttpLimits;
use super::reply::refuse;

/// Maximum bytes read from a body that is refused.
///
/// Most clients look for a response only after sending the whole body. If the connection closes earlier, they
/// report a broken connection instead of the 413.
const MAX_DRAINED_BYTES: usize = 32 * 1024 * 1024;

/// Time for the rest of a body to arrive once the server is stopping.
const STOP_TIME: Duration = Duration::from_millis(500);

/// Returns the bytes of `body`, or the response to one that is too large, too slow or broken.
pub(super) async fn read(
    headers: &HeaderMap,
    mut body: Body,
    limits: &HttpLimits,
    stopping: &CancellationToken,
) -> Result<Bytes, Response> {
    // Reading would invite a client that waits for `100 Continue` to send the body.
    if expects_continue(headers) && body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(too_large(limits.body_bytes));
    }
    let mut deadline = std::pin::pin!(sleep_until(Instant::now() + limits.body_time));
    let mut stopped = std::pin::pin!(async {
        stopping.cancelled().await;
        sleep(STOP_TIME).await;
    });
    let error = tokio::select! {
        collected = Limited::new(&mut body, limits.body_bytes).collect() => match collected {
            Ok(collected) => return Ok(collected.to_bytes()),
            Err(error) => error,
        },
        () = &mut deadline => return Err(refuse(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
        () = &mut stopped => return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping")),
    };
    if !error.is::<LengthLimitError>() {
        return Err(refuse(StatusCode::BAD_REQUEST, "the body cannot be read"));
    }
    tokio::select! {
        () = drain(&mut body) => {}
        () = deadline => {}
        () = stopped => {}
    }
    Err(too_large(limits.body_bytes))
}

/// Reads and discards the rest of a body, up to [`MAX_DRAINED_BYTES`].
async fn drain(body: &mut Body) {
    let mut length = 0;
    while length < MAX_DRAINED_BYTES
        && let Some(Ok(frame)) = body.frame().await
    {
        length += frame.data_ref().map_or(0, Bytes::len);
    }
}

fn too_large(limit: usize) -> Response {
    let reason = format!("the body is too large; send at most {limit} bytes");
    let mut response = refuse(StatusCode::PAYLOAD_TOO_LARGE, &reason);
    // Part of the body may still be unread.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn expects_continue(headers: &HeaderMap) -> bool {
    headers
        .get(header::EXPECT)
        .is_some_and(|expected| expected.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use std::convert::Infallible;

    #[tokio::test]
    async fn a_refused_body_is_drained_up_to_a_limit() {
        const CHUNK: usize = 1024 * 1024;
        let chunks = |count: usize| {
            Body::from_stream(stream::iter((0..count).map(|_| Ok::<_, Infallible>(vec![b'x'; CHUNK]))))
        };
        let mut short = chunks(3);
        drain(&mut short).await;
        assert!(short.frame().await.is_none());
        let mut long = chunks(MAX_DRAINED_BYTES / CHUNK + 2);
        drain(&mut long).await;
        assert_eq!(long.collect().await.unwrap().to_bytes().len(), 2 * CHUNK);
    }
}
