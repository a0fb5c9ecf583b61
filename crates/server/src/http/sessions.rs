//! The MCP sessions of one token, up to a limit: a new one replaces the one that was idle longest.
//!
//! rmcp 3.8 expires idle sessions but does not limit their number.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use rmcp::transport::streamable_http_server::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::{Mutex, MutexGuard};

use super::session::McpSession;

/// The MCP sessions of one token.
pub(super) struct McpSessions {
    manager: Arc<LocalSessionManager>,
    limit: usize,
    sessions: std::sync::Mutex<HashMap<String, TrackedSession>>,
    /// Locked while a session starts, so that no two take the last slot.
    starting: Mutex<()>,
}

struct TrackedSession {
    last_used: Instant,
    session: Arc<McpSession>,
}

impl McpSessions {
    /// Returns the sessions of `manager`, which may hold `limit` of them.
    pub(super) fn new(manager: Arc<LocalSessionManager>, limit: usize) -> Self {
        Self { manager, limit, sessions: std::sync::Mutex::default(), starting: Mutex::default() }
    }

    /// Closes the longest idle session if the limit is reached. No other session starts while the returned guard is held.
    ///
    /// The client of a closed session gets 404 and starts a new one.
    pub(super) async fn make_room(&self) -> MutexGuard<'_, ()> {
        let starting = self.starting.lock().await;
        while let Some(idle) = self.longest_idle_over_limit().await {
            self.sessions().remove(&*idle);
            // The manager forgets it even if closing fails.
            let _ = self.manager.close_session(&idle).await;
        }
        starting
    }

    async fn longest_idle_over_limit(&self) -> Option<Arc<str>> {
        let open = self.manager.sessions.read().await;
        let mut sessions = self.sessions();
        sessions.retain(|id, _| open.contains_key(id.as_str()));
        if open.len() < self.limit {
            return None;
        }
        open.keys().min_by_key(|id| sessions.get(&***id).map(|tracked| tracked.last_used)).cloned()
    }

    /// Records that the session `id` has started.
    pub(super) fn started(&self, id: &str) {
        let tracked = TrackedSession { last_used: Instant::now(), session: Arc::default() };
        self.sessions().insert(id.to_owned(), tracked);
    }

    /// Returns the session `id` and marks it as used.
    pub(super) fn find(&self, id: &str) -> Option<Arc<McpSession>> {
        let mut sessions = self.sessions();
        let tracked = sessions.get_mut(id)?;
        tracked.last_used = Instant::now();
        Some(Arc::clone(&tracked.session))
    }

    /// Returns whether the session `id` is open.
    pub(super) async fn is_open(&self, id: &str) -> bool {
        self.manager.sessions.read().await.contains_key(id)
    }

    /// Ends the open GET event stream of the session `id`, if there is one.
    pub(super) async fn end_stream(&self, id: &str) {
        let handle = self.manager.sessions.read().await.get(id).cloned();
        if let Some(handle) = handle {
            // It fails only if the session is closing, which ends its streams as well.
            let _ = handle.close_standalone_sse_stream(None).await;
        }
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<String, TrackedSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
