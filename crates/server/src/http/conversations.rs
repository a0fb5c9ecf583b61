//! Conversations of clients that shake hands: there are only so many, and a new one takes the place of the longest idle.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use rmcp::transport::streamable_http_server::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::{Mutex, MutexGuard};

use super::conversation::Conversation;

/// The conversations of one principal.
pub(super) struct Conversations {
    kept: Arc<LocalSessionManager>,
    most: usize,
    known: std::sync::Mutex<HashMap<String, Known>>,
    /// Held while a conversation is begun, so that no two take the last place.
    beginning: Mutex<()>,
}

/// A conversation that was begun.
struct Known {
    /// When it was last used.
    used: Instant,
    conversation: Arc<Conversation>,
}

impl Conversations {
    /// Returns those that `kept` keeps, which are to be no more than `most`.
    pub(super) fn new(kept: Arc<LocalSessionManager>, most: usize) -> Self {
        Self { kept, most, known: std::sync::Mutex::default(), beginning: Mutex::default() }
    }

    /// Makes room for one more, which is begun before anybody else's while what is returned is held.
    ///
    /// Where there are too many, the one that was not used for longest ends. Whoever uses it again is told that it is not there,
    /// and begins anew.
    pub(super) async fn make_room(&self) -> MutexGuard<'_, ()> {
        let beginning = self.beginning.lock().await;
        while let Some(idle) = self.one_too_many().await {
            self.known().remove(&*idle);
            // It is forgotten at once, even where its end fails.
            let _ = self.kept.close_session(&idle).await;
        }
        beginning
    }

    /// Returns the conversation that was not used for longest, if there is no room for another.
    async fn one_too_many(&self) -> Option<Arc<str>> {
        let kept = self.kept.sessions.read().await;
        let mut known = self.known();
        known.retain(|id, _| kept.contains_key(id.as_str()));
        if kept.len() < self.most {
            return None;
        }
        kept.keys().min_by_key(|id| known.get(&***id).map(|known| known.used)).cloned()
    }

    /// Notes that the conversation `id` was begun.
    pub(super) fn begun(&self, id: &str) {
        let known = Known { used: Instant::now(), conversation: Arc::default() };
        self.known().insert(id.to_owned(), known);
    }

    /// Returns the conversation `id`, if there is one, and notes that it is used.
    pub(super) fn used_now(&self, id: &str) -> Option<Arc<Conversation>> {
        let mut known = self.known();
        let known = known.get_mut(id)?;
        known.used = Instant::now();
        Some(Arc::clone(&known.conversation))
    }

    /// Returns whether the conversation `id` is there and not over.
    pub(super) async fn has(&self, id: &str) -> bool {
        self.kept.sessions.read().await.contains_key(id)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
