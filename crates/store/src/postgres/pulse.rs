//! Notices that a database does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::address::Address;
use super::open_connection::OpenConnection;

/// The time after which a call makes the server be asked whether it answers.
const SUSPICION: Duration = Duration::from_millis(250);

/// The time that a server that has answered before has to answer. With [`SUSPICION`], no call waits for a
/// silent server for longer than a second.
const ANSWER: Duration = Duration::from_millis(750);

/// The time after which another connection is tried.
const RETRY: Duration = Duration::from_secs(10);

/// Notices that a server answers nobody: it was stopped, its disk stalls, or the network drops everything.
///
/// A slow statement alone proves nothing, so an empty one is sent on a connection that is kept for it. While
/// the server is silent, calls fail at once; the connection tells when it is back.
pub(super) struct Pulse {
    is_silent: watch::Sender<bool>,
    /// The number of calls that were answered.
    answers: AtomicU64,
    /// Signalled by calls that wait.
    suspicion: Notify,
}

impl Pulse {
    /// Starts to watch the database at `address`, for as long as `runtime` runs.
    pub(super) fn start(runtime: &Handle, address: Arc<Address>) -> Arc<Self> {
        let (is_silent, suspicion) = (watch::Sender::new(false), Notify::new());
        let pulse = Arc::new(Self { is_silent, answers: AtomicU64::new(0), suspicion });
        let watching = Arc::clone(&pulse);
        runtime.spawn(async move { watching.watch(&address).await });
        pulse
    }

    /// Notes that the server has answered a call.
    pub(super) fn answered(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the server is silent, and asks it.
    pub(super) fn is_silent(&self) -> bool {
        self.suspicion.notify_one();
        *self.is_silent.borrow()
    }

    /// Waits until the server is silent.
    pub(super) async fn silence(&self) {
        let mut is_silent = self.is_silent.subscribe();
        while timeout(SUSPICION, is_silent.wait_for(|is_silent| *is_silent)).await.is_err() {
            self.suspicion.notify_one();
        }
    }

    async fn watch(&self, address: &Address) {
        let mut connection = None;
        loop {
            self.suspicion.notified().await;
            let mut answers = self.answers.load(Ordering::Relaxed);
            // The distance to the server is not known yet: to connect takes several answers.
            let mut limit = if answers == 0 { address.connect_limit() } else { ANSWER };
            let mut question = Box::pin(ask(&mut connection, address));
            while timeout(limit, &mut question).await.is_err() {
                let now = self.answers.load(Ordering::Relaxed);
                self.set_silent(now == answers);
                (answers, limit) = (now, ANSWER);
            }
            self.set_silent(false);
        }
    }

    fn set_silent(&self, is_silent: bool) {
        self.is_silent.send_if_modified(|was| std::mem::replace(was, is_silent) != is_silent);
    }
}

/// Waits for an answer of the server, on `connection` or a new one.
async fn ask(connection: &mut Option<OpenConnection>, address: &Address) {
    loop {
        if let Some(known) = connection.as_ref()
            && let Ok(Ok(())) = timeout(RETRY, known.client.batch_execute("")).await
        {
            return;
        }
        *connection = None;
        // A refusal is an answer.
        if let Ok(opened) = connect(address).await {
            *connection = opened;
            return;
        }
    }
}

/// Returns a new connection, `None` if the server refuses it. Fails if the server does not answer.
async fn connect(address: &Address) -> Result<Option<OpenConnection>, tokio::time::error::Elapsed> {
    timeout(RETRY.max(address.connect_limit()), OpenConnection::open(address)).await.map(Result::ok)
}
