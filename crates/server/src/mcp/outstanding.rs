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
    ids: Mutex<HashSet<RequestId>>,
    settled: Notify,
}

impl Outstanding {
    /// Notes that `message` was taken in.
    pub(super) fn received(&self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.ids().insert(request.id.clone());
            }
            // A request that was cancelled is not answered.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.settle(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Notes that `message` was sent.
    pub(super) fn sent(&self, message: &ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Response(response) => self.settle(&response.id),
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.settle(id);
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
    }

    /// Waits until everything is answered.
    pub(super) async fn all_settled(&self) {
        loop {
            let settled = self.settled.notified();
            if self.ids().is_empty() {
                return;
            }
            settled.await;
        }
    }

    /// Returns how many are not answered.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.ids().len()
    }

    fn settle(&self, id: &RequestId) {
        self.ids().remove(id);
        self.settled.notify_waiters();
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
