//! The output queue of a stdio client. One task writes the lines in order.
//!
//! rmcp 3.8 drops the future of `receive` whenever something else is ready, so the error responses that are
//! sent from there must not wait until the client reads.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ServerJsonRpcMessage;
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::in_flight::InFlight;

/// Maximum time to write the last lines when the connection closes.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// The output queue of one client. Lines that are not written when it is dropped are lost.
pub(super) struct OutputQueue {
    sender: LineSender,
    writer: JoinSet<()>,
}

/// Puts lines into an [`OutputQueue`].
#[derive(Clone)]
pub(super) struct LineSender {
    queue: mpsc::UnboundedSender<Vec<u8>>,
    in_flight: Arc<InFlight>,
}

impl OutputQueue {
    /// Returns a queue that is written to `writer`, and cancels `closing` if writing fails.
    pub(super) fn new(
        writer: impl AsyncWrite + Send + Unpin + 'static,
        in_flight: &Arc<InFlight>,
        closing: CancellationToken,
    ) -> Self {
        let (queue, lines) = mpsc::unbounded_channel();
        let mut task = JoinSet::new();
        task.spawn(write(writer, lines, Arc::clone(in_flight), closing));
        Self { sender: LineSender { queue, in_flight: Arc::clone(in_flight) }, writer: task }
    }

    pub(super) fn sender(&self) -> &LineSender {
        &self.sender
    }

    /// Closes the queue and waits until all lines are written, up to [`CLOSE_TIME`].
    pub(super) async fn close(&mut self) {
        self.sender.queue = mpsc::unbounded_channel().0;
        let _ = tokio::time::timeout(CLOSE_TIME, self.writer.join_next()).await;
        self.writer.abort_all();
    }
}

impl LineSender {
    /// Queues a message.
    pub(super) fn send(&self, message: &ServerJsonRpcMessage) -> std::io::Result<()> {
        let line = serde_json::to_vec(message);
        self.in_flight.respond(message, line.as_ref().ok().map(|line| line.len() + 1));
        self.put(line?)
    }

    /// Queues the error response to a message that rmcp never sees.
    pub(super) fn refuse(&self, response: &Value) {
        let line = response.to_string().into_bytes();
        self.in_flight.add_line(line.len() + 1);
        // It fails only if the client is gone.
        let _ = self.put(line);
    }

    /// Queues a line that is already counted.
    fn put(&self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        self.queue.send(line).map_err(|unsent| {
            self.in_flight.remove_line(unsent.0.len());
            std::io::ErrorKind::BrokenPipe.into()
        })
    }
}

async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut lines: mpsc::UnboundedReceiver<Vec<u8>>,
    in_flight: Arc<InFlight>,
    closing: CancellationToken,
) {
    while let Some(line) = lines.recv().await {
        let mut written = writer.write_all(&line).await;
        // Lines that are already queued are flushed together.
        if written.is_ok() && lines.is_empty() {
            written = writer.flush().await;
        }
        in_flight.remove_line(line.len());
        if written.is_err() {
            closing.cancel();
            break;
        }
    }
    lines.close();
    while let Ok(line) = lines.try_recv() {
        in_flight.remove_line(line.len());
    }
}
