//! The limits of a server that its requests share.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// The limits of a server that a request for a mounted service is subject to.
#[derive(Clone)]
pub struct RequestLimits {
    /// One permit for each event stream that waits for changes.
    pub streams: Arc<Semaphore>,
    /// Fails with the reason if too many responses wait to be read for one of so many bytes more.
    pub room: Arc<dyn Fn(u64) -> Result<(), String> + Send + Sync>,
}
