//! What a client still has to be answered, and what of that is not written yet.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use tokio::sync::Notify;

/// A request that lasts until the client or the server ends it.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// How much may be outstanding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// The most requests that are worked on; what they come to is in memory before anybody knows how much it is.
    pub(super) open: usize,
    /// The most subscriptions; more are refused.
    pub(super) subscriptions: usize,
    /// The most lines that are not written.
    pub(super) lines: usize,
    /// About the most bytes of these.
    pub(super) bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        // Whoever asks a lot before reading anything gets far with that, and whoever never reads does not fill the memory.
        Self { open: 256, subscriptions: 1_024, lines: 10_000, bytes: 16 * 1024 * 1024 }
    }
}

/// What a client still has to be answered.
#[derive(Default)]
pub(super) struct Outstanding {
    room: Room,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// What is worked on: an id may be used again as soon as its answer is on its way.
    open: HashSet<RequestId>,
    subscriptions: HashSet<RequestId>,
    /// How many lines are not written yet, and of how many bytes.
    lines: usize,
    bytes: usize,
}

impl State {
    fn close(&mut self, id: &RequestId) {
        self.open.remove(id);
        self.subscriptions.remove(id);
    }

    fn queue(&mut self, bytes: usize) {
        self.lines += 1;
        self.bytes += bytes;
    }

    fn is_settled(&self) -> bool {
        self.open.is_empty() && self.subscriptions.is_empty() && self.lines == 0
    }
}

/// Why a request is not taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It has the id of one that is not answered yet.
    IdInUse,
    /// There are too many subscriptions.
    TooMany,
}

impl Outstanding {
    /// Returns one with no more than this much room.
    #[cfg(test)]
    pub(super) fn within(room: Room) -> Self {
        Self { room, ..Self::default() }
    }

    /// Notes that `message` was taken in, if it can be.
    pub(super) fn received(&self, message: &ClientJsonRpcMessage) -> Result<(), Refusal> {
        match message {
            JsonRpcMessage::Request(request) => {
                let mut state = self.state();
                if state.open.contains(&request.id) || state.subscriptions.contains(&request.id) {
                    return Err(Refusal::IdInUse);
                }
                if request.request.method() != SUBSCRIPTION {
                    state.open.insert(request.id.clone());
                } else if state.subscriptions.len() < self.room.subscriptions {
                    state.subscriptions.insert(request.id.clone());
                } else {
                    return Err(Refusal::TooMany);
                }
            }
            // A request that was cancelled is not answered.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.state().close(id);
                    self.changed.notify_waiters();
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(())
    }

    /// Notes that `message` is to be written as a line of so many bytes; without one it is merely answered.
    pub(super) fn answered(&self, message: &ServerJsonRpcMessage, bytes: Option<usize>) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let mut state = self.state();
        if let Some(id) = id {
            state.close(id);
        }
        if let Some(bytes) = bytes {
            state.queue(bytes);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Notes that a line of so many bytes is to be written, which answers nothing that was taken in.
    pub(super) fn queued(&self, bytes: usize) {
        self.state().queue(bytes);
    }

    /// Notes that such a line was written, or never will be.
    pub(super) fn written(&self, bytes: usize) {
        let mut state = self.state();
        state.lines -= 1;
        state.bytes -= bytes;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until everything is answered, and written.
    pub(super) async fn all_settled(&self) {
        self.until(State::is_settled).await;
    }

    /// Waits until there is room for another request.
    pub(super) async fn has_room(&self) {
        let Room { open, lines, bytes, .. } = self.room;
        self.until(|state| state.open.len() < open && state.lines < lines && state.bytes < bytes).await;
    }

    async fn until(&self, is_so: impl Fn(&State) -> bool) {
        loop {
            let changed = self.changed.notified();
            if is_so(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// Returns how many requests are not answered, and how many lines are not written.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.open.len() + state.subscriptions.len(), state.lines)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
