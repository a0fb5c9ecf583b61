//! The senders of requests.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::event::{CallOrigin, Via};
use crate::store::Role;

/// The sender of a request.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The name of the token that the client authenticated with.
    pub name: Option<Arc<str>>,
    /// Its rights.
    pub role: Role,
    /// The tools and scripts that it may run at a time.
    pub runs: RunLimit,
    /// The conversation of the client, if it shares its session with others.
    pub conversation: Option<Arc<str>>,
}

/// A sender without a token, who may do what the server lets everybody do.
impl Default for Principal {
    fn default() -> Self {
        Self { name: None, role: Role::Admin, runs: RunLimit::default(), conversation: None }
    }
}

impl Principal {
    /// Returns the origin of a request that gets skills in the way `via`.
    pub fn origin(&self, via: Via) -> CallOrigin {
        let mut origin = CallOrigin::default();
        origin.principal.clone_from(&self.name);
        origin.via = via;
        origin.conversation.clone_from(&self.conversation);
        origin
    }
}

/// The tools and scripts of one principal that may run at a time; `None` without a limit.
#[derive(Debug, Clone, Default)]
pub struct RunLimit(pub Option<Arc<Semaphore>>);

impl RunLimit {
    /// Returns a limit of `runs`; 0 means no limit.
    pub fn new(runs: usize) -> Self {
        Self((runs > 0).then(|| Arc::new(Semaphore::new(runs))))
    }
}

/// Returns the name of a person or agent without its kind: `ada` of `user:ada`.
pub fn without_kind(name: &str) -> &str {
    name.split_once(':').filter(|(kind, _)| matches!(*kind, "user" | "agent")).map_or(name, |(_, name)| name)
}

/// The limits of a server that a request for a mounted service is subject to.
#[derive(Clone)]
pub struct RequestLimits {
    /// One permit for each event stream that waits for changes.
    pub streams: Arc<Semaphore>,
    /// Fails with the reason if too many responses wait to be read for one of so many bytes more.
    pub room: Arc<dyn Fn(u64) -> Result<(), String> + Send + Sync>,
}
