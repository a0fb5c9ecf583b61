//! Tells clients which of their lists changed.

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::audience::Epochs;

/// How often the lists of one connection changed: those of its audience, and its tools alone.
#[derive(Clone)]
pub(crate) struct Followed {
    pub(crate) epochs: watch::Receiver<Epochs>,
    pub(crate) own_tools: watch::Receiver<u64>,
}

/// What a connection was told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Told {
    epochs: Epochs,
    own_tools: u64,
}

impl Followed {
    /// Returns how it is now.
    pub(crate) fn now(&mut self) -> Told {
        Told { epochs: *self.epochs.borrow_and_update(), own_tools: *self.own_tools.borrow_and_update() }
    }

    /// Waits for a change; returns whether there may be more.
    async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.epochs.changed() => changed.is_ok(),
            changed = self.own_tools.changed() => changed.is_ok(),
        }
    }
}

impl Told {
    fn has_other_tools(&self, told: &Self) -> bool {
        (self.epochs.tools, self.own_tools) != (told.epochs.tools, told.own_tools)
    }
}

/// Tells a client that shook hands what changed since `told`, until it is gone or `ended`.
pub(crate) async fn tell_peer(
    peer: Peer<RoleServer>,
    mut told: Told,
    mut followed: Followed,
    ended: CancellationToken,
) {
    loop {
        let is_over = tokio::select! {
            may_be_more = followed.changed() => !may_be_more,
            () = ended.cancelled() => true,
        };
        if is_over || peer.is_transport_closed() {
            return;
        }
        let now = followed.now();
        let sent = async {
            if now.has_other_tools(&told) {
                peer.notify_tool_list_changed().await?;
            }
            if now.epochs.prompts != told.epochs.prompts {
                peer.notify_prompt_list_changed().await?;
            }
            if now.epochs.resources != told.epochs.resources {
                peer.notify_resource_list_changed().await?;
            }
            Ok::<(), rmcp::ServiceError>(())
        };
        if sent.await.is_err() {
            return;
        }
        told = now;
    }
}

/// Tells whoever listens what changed since `told`, until they no longer do or `ended`.
pub(crate) async fn tell_listener(
    listener: SubscriptionContext,
    mut told: Told,
    mut followed: Followed,
    ended: CancellationToken,
) {
    loop {
        let now = followed.now();
        let (accepted, sink) = (listener.accepted(), listener.sink());
        let wants = |wanted: Option<bool>| wanted == Some(true);
        let sent = async {
            if now.has_other_tools(&told) && wants(accepted.tools_list_changed) {
                sink.notify_tool_list_changed().await?;
            }
            if now.epochs.prompts != told.epochs.prompts && wants(accepted.prompts_list_changed) {
                sink.notify_prompt_list_changed().await?;
            }
            if now.epochs.resources != told.epochs.resources && wants(accepted.resources_list_changed) {
                sink.notify_resource_list_changed().await?;
            }
            Ok::<(), rmcp::service::SubscriptionSendError>(())
        };
        if sent.await.is_err() {
            return;
        }
        told = now;
        let is_over = tokio::select! {
            may_be_more = followed.changed() => !may_be_more,
            () = listener.cancelled() => true,
            () = ended.cancelled() => true,
        };
        if is_over {
            return;
        }
    }
}
