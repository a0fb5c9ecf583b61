//! Tracks in-flight requests and queued output of one stdio client, for back-pressure and shutdown.
//!
//! rmcp 3.8 handles any number of requests at a time, keeps any number of responses for a client that does
//! not read, matches responses to requests by id alone, and loses unsent responses when the input ends.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use tokio::sync::Notify;

/// A request that stays open until the client or the server ends it.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// Limits on requests and output. Once one is reached, no more input is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlightLimits {
    /// Maximum requests in flight, without subscriptions.
    pub(super) requests: usize,
    /// Maximum subscriptions; more are refused.
    pub(super) subscriptions: usize,
    /// Maximum lines waiting to be written.
    pub(super) lines: usize,
    /// Approximate maximum bytes of these lines.
    pub(super) bytes: usize,
}

impl Default for InFlightLimits {
    fn default() -> Self {
        // Enough for a client that sends many requests before it reads, and bounded for one that never reads.
        Self { requests: 256, subscriptions: 1_024, lines: 10_000, bytes: 16 * 1024 * 1024 }
    }
}

/// In-flight requests and queued output of one client.
#[derive(Default)]
pub(super) struct InFlight {
    limits: InFlightLimits,
    counts: Mutex<Counts>,
    changed: Notify,
}

#[derive(Default)]
struct Counts {
    /// Ids of requests without a response. An id is free once its response is queued.
    requests: HashSet<RequestId>,
    subscriptions: HashSet<RequestId>,
    /// Number and bytes of lines waiting to be written.
    lines: usize,
    bytes: usize,
}

impl Counts {
    fn remove(&mut self, id: &RequestId) {
        self.requests.remove(id);
        self.subscriptions.remove(id);
    }

    fn add_line(&mut self, bytes: usize) {
        self.lines += 1;
        self.bytes += bytes;
    }

    fn are_idle(&self) -> bool {
        self.requests.is_empty() && self.subscriptions.is_empty() && self.lines == 0
    }

    fn are_below(&self, limits: &InFlightLimits) -> bool {
        self.requests.len() < limits.requests && self.lines < limits.lines && self.bytes < limits.bytes
    }
}

/// The reason for refusing a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestRefusal {
    /// A request with the same id is in flight.
    IdInUse,
    TooManySubscriptions,
}

impl InFlight {
    #[cfg(test)]
    pub(super) fn with_limits(limits: InFlightLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Records a message from the client, unless it is refused.
    pub(super) fn receive(&self, message: &ClientJsonRpcMessage) -> Result<(), RequestRefusal> {
        match message {
            JsonRpcMessage::Request(request) => {
                let mut counts = self.counts();
                if counts.requests.contains(&request.id) || counts.subscriptions.contains(&request.id) {
                    return Err(RequestRefusal::IdInUse);
                }
                if request.request.method() != SUBSCRIPTION {
                    counts.requests.insert(request.id.clone());
                } else if counts.subscriptions.len() < self.limits.subscriptions {
                    counts.subscriptions.insert(request.id.clone());
                } else {
                    return Err(RequestRefusal::TooManySubscriptions);
                }
            }
            // A cancelled request gets no response.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.counts().remove(id);
                    self.changed.notify_waiters();
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }

    /// Records that `message` is queued as a line of `bytes`, or was dropped if there is no line.
    pub(super) fn respond(&self, message: &ServerJsonRpcMessage, bytes: Option<usize>) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let mut counts = self.counts();
        if let Some(id) = id {
            counts.remove(id);
        }
        if let Some(bytes) = bytes {
            counts.add_line(bytes);
        }
        drop(counts);
        self.changed.notify_waiters();
    }

    /// Records a queued line that answers no recorded request.
    pub(super) fn add_line(&self, bytes: usize) {
        self.counts().add_line(bytes);
    }

    /// Records that a line was written, or never will be.
    pub(super) fn remove_line(&self, bytes: usize) {
        let mut counts = self.counts();
        counts.lines -= 1;
        counts.bytes -= bytes;
        drop(counts);
        self.changed.notify_waiters();
    }

    /// Waits until all requests are answered and all lines written.
    pub(super) async fn idle(&self) {
        self.until(Counts::are_idle).await;
    }

    /// Waits until another request may be read.
    pub(super) async fn below_limits(&self) {
        self.until(|counts| counts.are_below(&self.limits)).await;
    }

    async fn until(&self, condition: impl Fn(&Counts) -> bool) {
        loop {
            let changed = self.changed.notified();
            if condition(&self.counts()) {
                return;
            }
            changed.await;
        }
    }

    /// Returns the number of unanswered requests and of unwritten lines.
    #[cfg(test)]
    pub(super) fn requests_and_lines(&self) -> (usize, usize) {
        let counts = self.counts();
        (counts.requests.len() + counts.subscriptions.len(), counts.lines)
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
