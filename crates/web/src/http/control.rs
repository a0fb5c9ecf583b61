//! Replaces tokens, agents and kits of a server that runs.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::app::App;
use super::options::HttpAccess;
use crate::Error;

/// A replacement, and the place for its outcome.
type Replacement = (HttpAccess, oneshot::Sender<Result<(), Error>>);

/// A handle of an HTTP server by which tokens, agents and kits are replaced while it serves.
#[derive(Clone)]
pub struct HttpControl {
    sender: mpsc::Sender<Replacement>,
}

impl HttpControl {
    /// Replaces the tokens, agents and kits, and waits until done. After an error, everything is as before.
    ///
    /// It blocks: do not call it on an asynchronous runtime. Nothing happens after the server has stopped.
    pub fn replace_blocking(&self, access: HttpAccess) -> Result<(), Error> {
        let (sender, outcome) = oneshot::channel();
        if self.sender.blocking_send((access, sender)).is_err() {
            return Ok(());
        }
        outcome.blocking_recv().unwrap_or(Ok(()))
    }
}

/// The replacements that wait to be made.
pub(super) struct Replacements(Mutex<mpsc::Receiver<Replacement>>);

/// Returns a handle and its other end.
pub(super) fn channel() -> (HttpControl, Replacements) {
    let (sender, receiver) = mpsc::channel(1);
    (HttpControl { sender }, Replacements(Mutex::new(receiver)))
}

impl Replacements {
    /// Makes the replacements until all handles are gone.
    pub(super) async fn apply_to(self, app: Arc<App>) {
        let mut receiver = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        while let Some((access, outcome)) = receiver.recv().await {
            // The outcome matters only to the one that waits for it.
            let _ = outcome.send(app.principals.replace(access).await);
        }
    }
}
