//! Lines on their way to a client: one task writes them in order, so that nobody who makes one waits until the client reads it.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ServerJsonRpcMessage;
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::outstanding::Outstanding;

/// How long the last lines may take at the end.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Lines on their way to a client. What is not written when this is dropped never is.
pub(super) struct Output {
    lines: Lines,
    writing: JoinSet<()>,
}

/// Where lines are put.
#[derive(Clone)]
pub(super) struct Lines {
    queue: mpsc::UnboundedSender<Vec<u8>>,
    outstanding: Arc<Outstanding>,
}

impl Output {
    /// Returns the way to `writer`, which notes in `outstanding` what is written. Where it cannot be, `closing` is cancelled.
    pub(super) fn new(
        writer: impl AsyncWrite + Send + Unpin + 'static,
        outstanding: &Arc<Outstanding>,
        closing: CancellationToken,
    ) -> Self {
        let (queue, lines) = mpsc::unbounded_channel();
        let mut writing = JoinSet::new();
        writing.spawn(write(writer, lines, Arc::clone(outstanding), closing));
        Self { lines: Lines { queue, outstanding: Arc::clone(outstanding) }, writing }
    }

    pub(super) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Ends when all is written, or takes too long.
    pub(super) async fn close(&mut self) {
        // Nothing follows.
        self.lines.queue = mpsc::unbounded_channel().0;
        let written = async { while self.writing.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_LINES, written).await;
        self.writing.abort_all();
    }
}

impl Lines {
    /// Puts a message in.
    pub(super) fn send(&self, message: &ServerJsonRpcMessage) -> std::io::Result<()> {
        let line = serde_json::to_vec(message);
        self.outstanding.answered(message, line.as_ref().ok().map(|line| line.len() + 1));
        self.put(line?)
    }

    /// Puts in the answer to what is no message, or none that can be taken in.
    pub(super) fn refuse(&self, answer: &Value) {
        let line = answer.to_string().into_bytes();
        self.outstanding.queued(line.len() + 1);
        // Whoever is gone is told nothing.
        let _ = self.put(line);
    }

    /// Puts in a line that is noted already.
    fn put(&self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        self.queue.send(line).map_err(|unsent| {
            self.outstanding.written(unsent.0.len());
            std::io::ErrorKind::BrokenPipe.into()
        })
    }
}

async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut lines: mpsc::UnboundedReceiver<Vec<u8>>,
    outstanding: Arc<Outstanding>,
    closing: CancellationToken,
) {
    while let Some(line) = lines.recv().await {
        let written = async {
            writer.write_all(&line).await?;
            // What follows at once goes with it.
            if lines.is_empty() { writer.flush().await } else { Ok(()) }
        };
        let is_gone = written.await.is_err();
        outstanding.written(line.len());
        if is_gone {
            closing.cancel();
            break;
        }
    }
    lines.close();
    // Nobody waits for what is never written.
    while let Ok(line) = lines.try_recv() {
        outstanding.written(line.len());
    }
}
