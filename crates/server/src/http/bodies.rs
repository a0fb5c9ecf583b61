//! The bodies of requests: none too large, and not too much of all of them at a time.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::options::Limits;

/// What memory is counted in. The first page of a body counts for nothing: small requests are served whatever the large ones do.
const PAGE_BYTES: usize = 64 * 1024;

/// The most bytes that are read of a body which is refused: most clients look for the answer only when everything is sent, and one
/// whose connection ends before that sees no answer at all.
const HEARD_OUT_BYTES: usize = 32 * 1024 * 1024;

/// How much room there is for the bodies of requests.
#[derive(Debug)]
pub(super) struct Bodies {
    most: usize,
    pages: Arc<Semaphore>,
}

/// A body, and the room it takes until this is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) bytes: Bytes,
    _pages: Option<OwnedSemaphorePermit>,
}

/// Why a body is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It says beforehand that it is too large; nothing of it was read.
    DeclaredTooLarge,
    TooLarge,
    NoRoom,
    Unreadable,
}

impl Bodies {
    pub(super) fn new(limits: &Limits) -> Self {
        let pages = (limits.all_body_bytes / PAGE_BYTES).min(Semaphore::MAX_PERMITS);
        Self { most: limits.body_bytes, pages: Arc::new(Semaphore::new(pages)) }
    }

    /// Returns the bytes of `body`. Nothing is read of one that says beforehand that it is too large.
    ///
    /// One that there is no room for is read to its end and forgotten: most clients look for the answer only then.
    pub(super) async fn take(&self, body: &mut Body) -> Result<Taken, Refused> {
        if body.size_hint().lower() > self.most as u64 {
            return Err(Refused::DeclaredTooLarge);
        }
        let (mut bytes, mut pages, mut length, mut has_room) = (Vec::new(), None, 0, true);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Refused::Unreadable)?.into_data() else { continue };
            length += data.len();
            if length > self.most {
                return Err(Refused::TooLarge);
            }
            if has_room && length > bytes.capacity() && length > PAGE_BYTES {
                let wanted = length.div_ceil(PAGE_BYTES);
                has_room = self.draw(&mut pages, wanted - 1);
                match has_room {
                    // What is not counted must not be there: a list that grows by itself would be twice as long.
                    true => bytes.reserve_exact(wanted * PAGE_BYTES - bytes.len()),
                    false => (bytes, pages) = (Vec::new(), None),
                }
            }
            if has_room {
                bytes.extend_from_slice(&data);
            }
        }
        match has_room {
            true => Ok(Taken { bytes: bytes.into(), _pages: pages }),
            false => Err(Refused::NoRoom),
        }
    }

    /// Makes `pages` as many as `wanted`; returns whether there are as many.
    fn draw(&self, pages: &mut Option<OwnedSemaphorePermit>, wanted: usize) -> bool {
        let has = pages.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let Ok(missing) = u32::try_from(wanted.saturating_sub(has)) else { return false };
        let Ok(more) = Arc::clone(&self.pages).try_acquire_many_owned(missing) else { return false };
        match pages {
            Some(pages) => pages.merge(more),
            None => *pages = Some(more),
        }
        true
    }
}

/// Reads what is left of a body that is refused, up to a limit, and forgets it.
pub(super) async fn hear_out(body: &mut Body) {
    let mut length = 0;
    while length < HEARD_OUT_BYTES
        && let Some(Ok(frame)) = body.frame().await
    {
        length += frame.data_ref().map_or(0, Bytes::len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use std::convert::Infallible;

    fn bodies(body_bytes: usize, all_body_bytes: usize) -> Bodies {
        Bodies::new(&Limits { body_bytes, all_body_bytes, ..Limits::default() })
    }

    /// Returns a body that does not say how long it is, in pieces.
    fn pieces(count: usize, length: usize) -> Body {
        Body::from_stream(stream::iter((0..count).map(move |_| Ok::<_, Infallible>(vec![b'x'; length]))))
    }

    #[tokio::test]
    async fn all_bodies_together_have_a_limit_which_small_ones_do_not_count_against() {
        let bodies = bodies(8 * PAGE_BYTES, 10 * PAGE_BYTES);
        let large = bodies.take(&mut pieces(70, 7_000)).await.unwrap();
        assert_eq!(large.bytes, vec![b'x'; 490_000]);
        assert_eq!(bodies.pages.available_permits(), 3);
        assert_eq!(bodies.take(&mut pieces(70, 7_000)).await.unwrap_err(), Refused::NoRoom);
        assert_eq!(bodies.pages.available_permits(), 3, "what was refused holds nothing");
        let small: Vec<_> =
            [bodies.take(&mut pieces(8, 8_192)).await, bodies.take(&mut Body::from("{}")).await].into();
        assert!(small.iter().all(Result::is_ok));
        assert_eq!(bodies.pages.available_permits(), 3);
        drop(large);
        assert_eq!(bodies.pages.available_permits(), 10);
        assert!(bodies.take(&mut pieces(70, 7_000)).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_refused_before_it_is_read_if_it_says_so() {
        struct Declared(u64);

        impl axum::body::HttpBody for Declared {
            type Data = Bytes;
            type Error = Infallible;

            fn poll_frame(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
                panic!("it is read");
            }

            fn size_hint(&self) -> hyper::body::SizeHint {
                hyper::body::SizeHint::with_exact(self.0)
            }
        }

        let bodies = bodies(1_000, PAGE_BYTES);
        assert_eq!(
            bodies.take(&mut Body::new(Declared(1_001))).await.unwrap_err(),
            Refused::DeclaredTooLarge
        );
        assert_eq!(bodies.take(&mut pieces(3, 400)).await.unwrap_err(), Refused::TooLarge);
        assert_eq!(bodies.take(&mut pieces(2, 500)).await.unwrap().bytes.len(), 1_000);
    }

    #[tokio::test]
    async fn what_is_refused_is_heard_out_up_to_a_limit() {
        const PIECE: usize = 1024 * 1024;
        let mut short = pieces(3, PIECE);
        hear_out(&mut short).await;
        assert!(short.frame().await.is_none());
        let mut long = pieces(HEARD_OUT_BYTES / PIECE + 2, PIECE);
        hear_out(&mut long).await;
        let mut left = 0;
        while long.frame().await.is_some() {
            left += 1;
        }
        assert_eq!(left, 2);
    }
}
