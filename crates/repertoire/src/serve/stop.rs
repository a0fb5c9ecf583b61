//! Stops a server.

use tokio_util::sync::CancellationToken;

/// Stops a server: requests in flight are finished, new ones are not accepted. Clones stop the same server.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    asked: CancellationToken,
    /// Cancelled when it was asked for a second time.
    urged: CancellationToken,
}

impl Stop {
    /// Returns a handle for a server to be started.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the servers that were started with this handle. A second call ends the draining of HTTP.
    pub fn stop(&self) {
        if self.asked.is_cancelled() {
            self.urged.cancel();
        }
        self.asked.cancel();
    }

    /// Returns the token that is cancelled by the first call.
    pub fn token(&self) -> &CancellationToken {
        &self.asked
    }

    /// Returns the token that is cancelled by the second call.
    pub fn urged(&self) -> &CancellationToken {
        &self.urged
    }
}
