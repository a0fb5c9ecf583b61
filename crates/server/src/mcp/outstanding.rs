//! Requests that were taken in and not answered yet.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use tokio::sync::Notify;

/// Requests that were taken in and not answered yet.
#[derive(Default)]
pub(super) struct Outstanding {
    state: Mutex<State>,
    settled: Notify,
}

#[derive(Default)]
struct State {
    /// What nobody is answering yet: an id may be used again as soon as its answer is on its way.
    open: HashSet<RequestId>,
    /// How many answers are not written yet.
    unwritten: usize,
}

/// An answer on its way.
#[must_use]
pub(super) struct Answering(bool);

impl Outstanding {
    /// Notes that `message` was taken in; returns whether it can be: a request cannot have the id of another.
    pub(super) fn received(&self, message: &ClientJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                let mut state = self.state();
                let is_new = state.open.insert(request.id.clone());
                state.unwritten += usize::from(is_new);
                return is_new;
            }
            // A request that was cancelled is not answered.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    let was_open = self.state().open.remove(id);
                    self.written(Answering(was_open));
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        true
    }

    /// Notes that `message` is going to be written.
    pub(super) fn answering(&self, message: &ServerJsonRpcMessage) -> Answering {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        Answering(id.is_some_and(|id| self.state().open.remove(id)))
    }

    /// Notes that an answer was written, or that there will be none.
    pub(super) fn written(&self, Answering(is_one): Answering) {
        if is_one {
            self.state().unwritten -= 1;
            self.settled.notify_waiters();
        }
    }

    /// Waits until everything is answered.
    pub(super) async fn all_settled(&self) {
        self.fewer_than(1).await;
    }

    /// Waits until fewer than `count` answers are not written yet.
    pub(super) async fn fewer_than(&self, count: usize) {
        loop {
            let settled = self.settled.notified();
            if self.state().unwritten < count {
                return;
            }
            settled.await;
        }
    }

    /// Returns how many are not answered.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.state().unwritten
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
