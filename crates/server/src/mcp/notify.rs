//! Tells clients which of their lists changed.

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::audience::Epochs;

/// Tells a client that shook hands what changed since `told`, until it is gone or `ended`.
pub(crate) async fn tell_peer(
    peer: Peer<RoleServer>,
    mut told: Epochs,
    mut epochs: watch::Receiver<Epochs>,
    ended: CancellationToken,
) {
    loop {
        let is_over = tokio::select! {
            changed = epochs.changed() => changed.is_err(),
            () = ended.cancelled() => true,
        };
        if is_over || peer.is_transport_closed() {
            return;
        }
        let now = *epochs.borrow_and_update();
        let sent = async {
            if now.tools != told.tools {
                peer.notify_tool_list_changed().await?;
            }
            if now.prompts != told.prompts {
                peer.notify_prompt_list_changed().await?;
            }
            if now.resources != told.resources {
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
    mut told: Epochs,
    mut epochs: watch::Receiver<Epochs>,
    ended: CancellationToken,
) {
    loop {
        let now = *epochs.borrow_and_update();
        let (accepted, sink) = (listener.accepted(), listener.sink());
        let wants = |wanted: Option<bool>| wanted == Some(true);
        let sent = async {
            if now.tools != told.tools && wants(accepted.tools_list_changed) {
                sink.notify_tool_list_changed().await?;
            }
            if now.prompts != told.prompts && wants(accepted.prompts_list_changed) {
                sink.notify_prompt_list_changed().await?;
            }
            if now.resources != told.resources && wants(accepted.resources_list_changed) {
                sink.notify_resource_list_changed().await?;
            }
            Ok::<(), rmcp::service::SubscriptionSendError>(())
        };
        if sent.await.is_err() {
            return;
        }
        told = now;
        let is_over = tokio::select! {
            changed = epochs.changed() => changed.is_err(),
            () = listener.cancelled() => true,
            () = ended.cancelled() => true,
        };
        if is_over {
            return;
        }
    }
}
