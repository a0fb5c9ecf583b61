//! State shared by all HTTP requests.

use std::sync::Arc;

use repertoire::serve::RequestLimits;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::access_log::{AccessLog, AddressRange};
use super::guard::Guard;
use super::options::HttpLimits;
use super::page_secret::PageSecret;
use super::principals::Principals;
use super::quota::Quotas;
use super::refusals::Refusals;
use super::request_metrics::RequestMetrics;
use super::unread::UnreadLimit;
use crate::Server;

/// State shared by all HTTP requests.
pub(super) struct App {
    pub(super) server: Server,
    pub(super) guard: Guard,
    pub(super) principals: Principals,
    /// The secret of the person that the server is for, if it is for one.
    pub(super) page_secret: Option<PageSecret>,
    /// The port that the server listens on.
    pub(super) port: u16,
    pub(super) limits: HttpLimits,
    pub(super) quotas: Arc<Quotas>,
    pub(super) access_log: Option<AccessLog>,
    pub(super) trusted_proxies: Vec<AddressRange>,
    pub(super) refusals: Refusals,
    /// The memory of responses that wait to be read.
    pub(super) unread: UnreadLimit,
    /// One permit for each event stream that waits for changes.
    pub(super) streams: Arc<Semaphore>,
    pub(super) mounted: RequestLimits,
    /// Cancelled when the server was asked to stop, and goes on for [`HttpLimits::drain`].
    pub(super) draining: CancellationToken,
    /// Cancelled when the server begins to stop.
    pub(super) stopping: CancellationToken,
    pub(super) requests: RequestMetrics,
}
