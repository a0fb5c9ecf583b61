//! Sends `list_changed` notifications to clients.

use repertoire::serve::ListVersions;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Receives the changes of the lists that one connection sees.
#[derive(Clone)]
pub(crate) struct ChangeReceiver {
    pub(crate) lists: watch::Receiver<ListVersions>,
    pub(crate) own_tools: watch::Receiver<u64>,
    /// Counts published skills whose files changed after they were listed.
    pub(crate) republished: watch::Receiver<u64>,
    /// False if the client is offered no tools.
    pub(crate) has_tools: bool,
    /// False if it is offered no skills as resources.
    pub(crate) has_resources: bool,
}

impl ChangeReceiver {
    /// Returns the current version of each list; that of a list not offered to the client stays the same.
    pub(crate) fn versions(&mut self) -> ListVersions {
        let mut versions = *self.lists.borrow_and_update();
        versions.tools += *self.own_tools.borrow_and_update();
        versions.resources += *self.republished.borrow_and_update();
        versions.tools *= u64::from(self.has_tools);
        versions.resources *= u64::from(self.has_resources);
        versions
    }

    /// Waits for a change; fails once there can be no more.
    async fn changed(&mut self) -> Result<(), watch::error::RecvError> {
        tokio::select! {
            changed = self.lists.changed() => changed,
            changed = self.own_tools.changed() => changed,
            changed = self.republished.changed() => changed,
        }
    }
}

/// Notifies the client of a session of changes since `seen`, until it is gone or `ended`.
pub(crate) async fn notify_peer(
    peer: Peer<RoleServer>,
    mut seen: ListVersions,
    mut changes: ChangeReceiver,
    ended: CancellationToken,
) {
    loop {
        let is_over = tokio::select! {
            changed = changes.changed() => changed.is_err(),
            () = ended.cancelled() => true,
        };
        if is_over || peer.is_transport_closed() {
            return;
        }
        let now = changes.versions();
        let sent = async {
            if now.tools != seen.tools {
                peer.notify_tool_list_changed().await?;
            }
            if now.prompts != seen.prompts {
                peer.notify_prompt_list_changed().await?;
            }
            if now.resources != seen.resources {
                peer.notify_resource_list_changed().await?;
            }
            Ok::<(), rmcp::ServiceError>(())
        };
        if sent.await.is_err() {
            return;
        }
        seen = now;
    }
}

/// Notifies a subscription of changes since `seen`, until it is cancelled or `ended`.
pub(crate) async fn notify_subscription(
    subscription: SubscriptionContext,
    mut seen: ListVersions,
    mut changes: ChangeReceiver,
    ended: CancellationToken,
) {
    let (accepted, sink) = (subscription.accepted(), subscription.sink());
    loop {
        let now = changes.versions();
        let sent = async {
            if now.tools != seen.tools && accepted.tools_list_changed == Some(true) {
                sink.notify_tool_list_changed().await?;
            }
            if now.prompts != seen.prompts && accepted.prompts_list_changed == Some(true) {
                sink.notify_prompt_list_changed().await?;
            }
            if now.resources != seen.resources && accepted.resources_list_changed == Some(true) {
                sink.notify_resource_list_changed().await?;
            }
            Ok::<(), rmcp::service::SubscriptionSendError>(())
        };
        if sent.await.is_err() {
            return;
        }
        seen = now;
        let is_over = tokio::select! {
            changed = changes.changed() => changed.is_err(),
            () = subscription.cancelled() => true,
            () = ended.cancelled() => true,
        };
        if is_over {
            return;
        }
    }
}
