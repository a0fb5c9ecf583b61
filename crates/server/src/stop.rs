//! Stops a server.

use tokio_util::sync::CancellationToken;

/// Stops a server: requests in flight are finished, new ones are not accepted. Clones stop the same server.
#[derive(Debug, Clone, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    /// Returns a handle for a server to be started.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the servers that were started with this handle.
    pub fn stop(&self) {
        self.0.cancel();
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0
    }
}
