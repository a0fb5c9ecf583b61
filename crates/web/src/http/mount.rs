//! The service that the host mounts at `/mcp`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty};
use repertoire::BoxFuture;
use repertoire::serve::{Caller, RequestLimits};
use tokio_util::sync::CancellationToken;

/// Answers the requests of one caller, whose bodies were read. `None` if the response would be an event
/// stream that stays open, and the limits allow no more of these.
pub type MountedService =
    dyn Fn(Request<Bytes>, RequestLimits) -> BoxFuture<'static, Option<MountedResponse>> + Send + Sync;

/// A response of a mounted service.
pub type MountedResponse = Response<UnsyncBoxBody<Bytes, Infallible>>;

type MakeService =
    dyn Fn(Arc<Caller>, &CancellationToken, &CancellationToken) -> Box<MountedService> + Send + Sync;

/// The service that the host mounts at `/mcp`. By default there is no service, and requests get 404.
#[derive(Clone)]
pub struct Mount(Arc<MakeService>);

impl Mount {
    /// Returns the service that `make` makes for each caller. Its streams end when the first token is
    /// cancelled, everything else when the second one is.
    pub fn new(
        make: impl Fn(Arc<Caller>, &CancellationToken, &CancellationToken) -> Box<MountedService>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }
}

impl Default for Mount {
    fn default() -> Self {
        Self::new(|_, _, _| {
            Box::new(|_, _| {
                Box::pin(async {
                    let mut response = Response::new(Empty::new().boxed_unsync());
                    *response.status_mut() = StatusCode::NOT_FOUND;
                    Some(response)
                })
            })
        })
    }
}

/// A caller with its service.
pub(super) struct Endpoint {
    pub(super) caller: Arc<Caller>,
    pub(super) service: Box<MountedService>,
}

impl Endpoint {
    pub(super) fn new(
        caller: Arc<Caller>,
        mount: &Mount,
        stopping: &CancellationToken,
        closed: &CancellationToken,
    ) -> Self {
        Self { service: (mount.0)(Arc::clone(&caller), stopping, closed), caller }
    }
}
