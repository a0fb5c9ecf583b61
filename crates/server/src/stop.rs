//! The way to end a server from outside.

use tokio_util::sync::CancellationToken;

/// Ends a server: what is under way is finished, nothing new is begun. Clones end the same server.
#[derive(Debug, Clone, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    /// Returns a handle that ends nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends whatever serves with this handle.
    pub fn stop(&self) {
        self.0.cancel();
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0
    }
}
