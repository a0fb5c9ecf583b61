//! The MCP sessions of one token, and of all, up to limits: a new one replaces the one that was idle longest.
//!
//! rmcp 3.8 expires idle sessions but does not limit their number, and each takes 100 to 200 KiB. Most
//! clients do not end their sessions, so few idle ones are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Instant;

use rmcp::transport::streamable_http_server::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::{Mutex, MutexGuard};

use super::session::McpSession;
use crate::McpOptions;

/// Maximum ids of sessions that were ended, which are remembered so that none of them comes back.
const MAX_ENDED: usize = 1_024;

pub(super) struct McpSessions {
    manager: Arc<LocalSessionManager>,
    options: Arc<McpOptions>,
    sessions: std::sync::Mutex<HashMap<String, TrackedSession>>,
    /// Sessions that a client ended, or that made room for others.
    ended: std::sync::Mutex<VecDeque<String>>,
    /// Locked while a session starts, so that no two take the last slot.
    starting: Mutex<()>,
    all: Arc<AllSessions>,
}

/// The sessions of all callers of a server.
#[derive(Default)]
pub(crate) struct AllSessions(std::sync::Mutex<Vec<Weak<McpSessions>>>);

impl AllSessions {
    /// Returns the sessions of each caller.
    fn callers(&self) -> Vec<Arc<McpSessions>> {
        let callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        callers.iter().filter_map(Weak::upgrade).collect()
    }

    fn add(&self, sessions: &Arc<McpSessions>) {
        let mut callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        callers.retain(|caller| caller.strong_count() > 0);
        callers.push(Arc::downgrade(sessions));
    }

    /// Closes the longest idle sessions, so that fewer than `most` stay.
    async fn make_room(&self, most: usize) {
        let mut idle: Vec<_> = self.callers().into_iter().flat_map(McpSessions::idle).collect();
        idle.sort_by_key(|(last_used, ..)| *last_used);
        let surplus = (idle.len() + 1).saturating_sub(most);
        for (_, caller, id) in idle.into_iter().take(surplus) {
            // It may have been used since.
            if caller.sessions().get(&*id).is_some_and(TrackedSession::is_idle) {
                caller.close(&id).await;
            }
        }
    }
}

struct TrackedSession {
    last_used: Instant,
    session: Arc<McpSession>,
}

impl TrackedSession {
    /// Returns whether no event stream is open and no request is in flight: each holds the session.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.session) == 1
    }
}

impl McpSessions {
    pub(super) fn new(
        manager: Arc<LocalSessionManager>,
        options: Arc<McpOptions>,
        all: Arc<AllSessions>,
    ) -> Arc<Self> {
        let sessions = Arc::new(Self {
            manager,
            options,
            sessions: std::sync::Mutex::default(),
            ended: std::sync::Mutex::default(),
            starting: Mutex::default(),
            all,
        });
        sessions.all.add(&sessions);
        sessions
    }

    /// Closes the longest idle sessions if a limit is reached. No other session starts while the returned
    /// guard is held.
    ///
    /// The client of a closed session gets 404 and starts a new one.
    pub(super) async fn make_room(&self) -> MutexGuard<'_, ()> {
        let starting = self.starting.lock().await;
        while let Some(idle) = self.longest_idle_over_limit().await {
            self.close(&idle).await;
        }
        self.all.make_room(self.options.all_idle_sessions).await;
        starting
    }

    async fn close(&self, id: &Arc<str>) {
        self.sessions().remove(&**id);
        self.ended(id);
        // The manager forgets it even if closing fails.
        let _ = self.manager.close_session(id).await;
    }

    /// Returns the idle sessions, each with the time of its last use.
    fn idle(self: Arc<Self>) -> Vec<(Instant, Arc<Self>, Arc<str>)> {
        let sessions = self.sessions();
        let idle = sessions.iter().filter(|(_, tracked)| tracked.is_idle());
        idle.map(|(id, tracked)| (tracked.last_used, Arc::clone(&self), id.as_str().into())).collect()
    }

    async fn longest_idle_over_limit(&self) -> Option<Arc<str>> {
        let open = self.manager.sessions.read().await;
        let mut sessions = self.sessions();
        sessions.retain(|id, _| open.contains_key(id.as_str()));
        let is_full = open.len() >= self.options.sessions;
        let idle = sessions.values().filter(|tracked| tracked.is_idle()).count();
        if !is_full && idle < self.options.idle_sessions {
            return None;
        }
        let tracked = |id: &Arc<str>| sessions.get(&**id);
        let is_idle = |id: &&Arc<str>| tracked(id).is_none_or(TrackedSession::is_idle);
        let last_used = |id: &&Arc<str>| tracked(id).map(|tracked| tracked.last_used);
        let longest_idle = open.keys().filter(is_idle).min_by_key(last_used);
        longest_idle.or_else(|| open.keys().filter(|_| is_full).min_by_key(last_used)).cloned()
    }

    pub(super) fn started(&self, id: &str) {
        let tracked = TrackedSession { last_used: Instant::now(), session: Arc::default() };
        self.sessions().insert(id.to_owned(), tracked);
    }

    /// Records that the session `id` was ended, and is not to come back.
    pub(super) fn ended(&self, id: &str) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.len() >= MAX_ENDED {
            ended.pop_front();
        }
        ended.push_back(id.to_owned());
    }

    pub(super) fn has_ended(&self, id: &str) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|ended| ended == id)
    }

    /// Returns the session `id` and marks it as used.
    pub(super) fn find(&self, id: &str) -> Option<Arc<McpSession>> {
        let mut sessions = self.sessions();
        let tracked = sessions.get_mut(id)?;
        tracked.last_used = Instant::now();
        Some(Arc::clone(&tracked.session))
    }

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
