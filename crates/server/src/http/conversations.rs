//! Conversations of clients that shake hands: there are only so many, and a new one takes the place of the longest idle.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use rmcp::transport::streamable_http_server::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::{Mutex, MutexGuard};

/// The conversations of one principal.
pub(super) struct Conversations {
    kept: Arc<LocalSessionManager>,
    most: usize,
    /// When each was last used.
    used: std::sync::Mutex<HashMap<String, Instant>>,
    /// Held while a conversation is begun, so that no two take the last place.
    beginning: Mutex<()>,
}

impl Conversations {
    /// Returns those that `kept` keeps, which are to be no more than `most`.
    pub(super) fn new(kept: Arc<LocalSessionManager>, most: usize) -> Self {
        Self { kept, most, used: std::sync::Mutex::default(), beginning: Mutex::default() }
    }

    /// Makes room for one more, which is begun before anybody else's while what is returned is held.
    ///
    /// Where there are too many, the one that was not used for longest ends. Whoever uses it again is told that it is not there,
    /// and begins anew.
    pub(super) async fn make_room(&self) -> MutexGuard<'_, ()> {
        let beginning = self.beginning.lock().await;
        while let Some(idle) = self.one_too_many().await {
            self.used().remove(&*idle);
            // It is forgotten at once, even where its end fails.
            let _ = self.kept.close_session(&idle).await;
        }
        beginning
    }

    /// Returns the conversation that was not used for longest, if there is no room for another.
    async fn one_too_many(&self) -> Option<Arc<str>> {
        let kept = self.kept.sessions.read().await;
        let mut used = self.used();
        used.retain(|id, _| kept.contains_key(id.as_str()));
        if kept.len() < self.most {
            return None;
        }
        kept.keys().min_by_key(|id| used.get(&***id)).cloned()
    }

    /// Notes that the conversation `id` was begun.
    pub(super) fn begun(&self, id: &str) {
        self.used().insert(id.to_owned(), Instant::now());
    }

    /// Notes that the conversation `id`, if there is one, is used.
    pub(super) fn used_now(&self, id: &str) {
        if let Some(used) = self.used().get_mut(id) {
            *used = Instant::now();
        }
    }

    fn used(&self) -> std::sync::MutexGuard<'_, HashMap<String, Instant>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
