//! One agent's view of the library: its skills, session, instructions and list versions.

use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::join_all;
use repertoire_model::State;
use repertoire_model::scope::Scope;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;

use super::principal::Principal;
use super::published_skills::{PublishResult, PublishedSkill};
use super::served_library::ServedLibrary;
use crate::error::Error;
use crate::library::Library;
use crate::prompt::Agent;
use crate::registry::{Entry, Snapshot, VisibleSkills};
use crate::session::{Session, SessionRequest};
use crate::store::AGENT_PREFIX;
use crate::tool::OfferedTools;

/// Maximum concurrent calls of one agent per processor; more wait. They mostly read cached files, so more
/// would not be faster, and each takes a thread.
const CALLS_PER_PROCESSOR: usize = 4;

/// Maximum concurrent calls of one agent per processor that run tools of skills; more wait. They have their
/// own limit so that reading skills never waits for a running tool.
const RUNS_PER_PROCESSOR: usize = 4;

/// The start of the name of a person who proposes or decides.
const USER_PREFIX: &str = "user:";

/// The number of skills that are published concurrently.
pub const PUBLISHED_AT_ONCE: usize = 16;

/// Counts the changes of each list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListVersions {
    /// The changes of the tools.
    pub tools: u64,
    /// Those of the prompts.
    pub prompts: u64,
    /// Those of the skills that models are offered.
    pub resources: u64,
}

/// One agent's view of the library, or the view without restriction.
pub struct AgentView {
    /// The library and what its views share.
    pub shared: Arc<ServedLibrary>,
    /// Answers the calls of all connections: a server sees no transcript, so it tracks none.
    pub session: Arc<Session>,
    agent: Option<Agent>,
    /// The library with the agents of the configuration that the view was opened under.
    library: Library,
    /// The limits beside those of the agent.
    limits: ViewLimits,
    /// The snapshot when the view was opened.
    opened: Arc<Snapshot>,
    list_versions: watch::Sender<ListVersions>,
    /// The catalog last written for clients that do not show instructions, and the number of its snapshot.
    pub described: Mutex<Option<(u64, Arc<str>, bool)>>,
    /// One permit for each call that does not run a tool.
    pub calls: Arc<Semaphore>,
    /// One permit for each call that runs a tool.
    pub runs: Arc<Semaphore>,
    /// The task that follows the library, for a view that is not followed by others.
    follower: OnceLock<AbortHandle>,
    /// The fingerprint of the skills, and the size of their catalog.
    catalog_size: Mutex<Option<(u64, CatalogSize)>>,
}

/// The tokens of a catalog, and the number of skills whose descriptions are shortened in it.
pub type CatalogSize = (usize, usize);

/// Limits of a view beside those of its agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViewLimits {
    /// The skills that it may see: the skills that all of them allow.
    pub scopes: Vec<Scope>,
    /// The tools for models that it may have.
    pub tools: OfferedTools,
}

impl Drop for AgentView {
    fn drop(&mut self) {
        if let Some(follower) = self.follower.get() {
            follower.abort();
        }
    }
}

impl AgentView {
    /// Opens the view of the agent called `agent` of `library`, or one without restriction, within `limits`.
    pub async fn open(
        shared: Arc<ServedLibrary>,
        library: Library,
        agent: Option<&str>,
        limits: ViewLimits,
    ) -> Result<Arc<Self>, Error> {
        let opened = shared.registry.snapshot();
        // The first client must not wait until the watcher is ready; `follow` catches up.
        let session = limited_session(&library, agent, &limits).await?;
        let agent = session.agent().cloned();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Arc::new(Self {
            shared,
            session: Arc::new(session),
            agent,
            library,
            limits,
            opened,
            list_versions: watch::Sender::default(),
            calls: Arc::new(Semaphore::new(CALLS_PER_PROCESSOR * processors)),
            runs: Arc::new(Semaphore::new(RUNS_PER_PROCESSOR * processors)),
            follower: OnceLock::new(),
            catalog_size: Mutex::default(),
            described: Mutex::default(),
        }))
    }

    /// Opens a view of those skills of this one that `limit` allows. It shares the limits on concurrent
    /// calls, and follows the library for as long as it is used.
    ///
    /// Fails if a skill that is bound to the agent is not among them.
    pub async fn narrowed(&self, limit: Scope) -> Result<Arc<Self>, Error> {
        let opened = self.shared.registry.snapshot();
        let agent = self.agent.as_ref().map(|agent| agent.name.as_str());
        let mut limits = self.limits.clone();
        limits.scopes.push(limit);
        self.library.registry().reload_if_due().await;
        let session = limited_session(&self.library, agent, &limits).await?;
        let view = Arc::new(Self {
            shared: Arc::clone(&self.shared),
            session: Arc::new(session),
            agent: self.agent.clone(),
            library: self.library.clone(),
            limits,
            opened,
            list_versions: watch::Sender::default(),
            calls: Arc::clone(&self.calls),
            runs: Arc::clone(&self.runs),
            follower: OnceLock::new(),
            catalog_size: Mutex::default(),
            described: Mutex::default(),
        });
        view.start_following();
        Ok(view)
    }

    /// Follows the library for as long as the view is used.
    pub fn start_following(self: &Arc<Self>) {
        let _ = self.follower.set(tokio::spawn(self.follow()).abort_handle());
    }

    /// Returns the agent whose view it is, if it is one's.
    pub fn agent(&self) -> Option<&Agent> {
        self.agent.as_ref()
    }

    /// Returns whether the view has the whole library.
    pub fn is_unrestricted(&self) -> bool {
        self.agent.is_none() && self.limits.scopes.iter().all(|scope| *scope == Scope::default())
    }

    /// Returns the list versions, to wait for changes.
    pub fn list_versions(&self) -> watch::Receiver<ListVersions> {
        self.list_versions.subscribe()
    }

    /// Returns whether the skill `name` of `source` may be changed, or made if it is not in `snapshot`.
    ///
    /// A skill that may not be seen can neither be changed nor made: the answer does not tell if it exists.
    pub fn may_change(&self, snapshot: &Snapshot, source: &str, name: &str) -> bool {
        match snapshot.named(name).iter().find(|entry| &*entry.source == source) {
            Some(entry) => self.sees(entry),
            None => {
                let agent = self.agent.iter().map(|agent| &agent.scope);
                self.limits.scopes.iter().chain(agent).all(|scope| scope.allows_new(source, name))
            }
        }
    }

    /// Returns the name of `principal` in proposals: `agent:NAME` or `user:NAME`; `None` if it is unknown.
    pub fn author(&self, principal: &Principal) -> Option<String> {
        match (&self.agent, &principal.name) {
            (Some(_), Some(name)) => Some(format!("{AGENT_PREFIX}{name}")),
            (Some(agent), None) => Some(format!("{AGENT_PREFIX}{}", agent.name)),
            (None, Some(name)) => Some(format!("{USER_PREFIX}{name}")),
            (None, None) => None,
        }
    }

    /// Returns whether a skill that is called `name` exists, and may not be seen.
    pub fn hides(&self, snapshot: &Snapshot, name: &str) -> bool {
        let named = snapshot.named(name).iter().chain(snapshot.qualified(name));
        let mut reachable = named.filter(|entry| entry.state != State::Disabled).peekable();
        reachable.peek().is_some() && !reachable.any(|entry| self.sees(entry))
    }

    /// Returns whether the agent may see the skill.
    pub fn sees(&self, entry: &Entry) -> bool {
        self.limits.scopes.iter().all(|scope| entry.is_within(scope))
            && self.agent.as_ref().is_none_or(|agent| agent.sees(entry))
    }

    /// Returns whether records about the skill `name` of `source` may be seen. Without a source they may be
    /// about any skill of the name, so all of these must be visible.
    pub fn sees_records(&self, snapshot: &Snapshot, name: &str, source: Option<&str>) -> bool {
        let named = snapshot.named(name);
        match source {
            Some(source) => named.iter().any(|entry| &*entry.source == source && self.sees(entry)),
            None => !named.is_empty() && named.iter().all(|entry| self.sees(entry)),
        }
    }

    /// Returns the skills of `snapshot` that the agent may see: the skills that [`AgentView::sees`] accepts.
    pub fn visible<'s>(&self, snapshot: &'s Snapshot) -> VisibleSkills<'s> {
        self.session.lookup().visible_skills(snapshot)
    }

    /// Returns the size of the catalog of the skills with this fingerprint, if it is known.
    pub fn catalog_size(&self, fingerprint: u64) -> Option<CatalogSize> {
        let known = *self.catalog_size.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(of, _)| *of == fingerprint).map(|(_, size)| size)
    }

    /// Keeps the size of the catalog of the skills with this fingerprint.
    pub fn keep_catalog_size(&self, fingerprint: u64, size: CatalogSize) {
        *self.catalog_size.lock().unwrap_or_else(PoisonError::into_inner) = Some((fingerprint, size));
    }

    /// Opens a session for one client alone.
    pub async fn open_session(&self) -> Result<Arc<Session>, Error> {
        let agent = self.agent.as_ref().map(|agent| agent.name.as_str());
        Ok(Arc::new(limited_session(&self.library, agent, &self.limits).await?))
    }

    /// Returns the skills that models are offered, sorted by name.
    pub fn offered<'s>(&self, snapshot: &'s Snapshot) -> impl Iterator<Item = &'s Entry> {
        self.visible(snapshot).held().filter(|entry| entry.allows_models())
    }

    /// Returns the skills that people may invoke, sorted by name.
    pub fn invocable<'s>(&self, snapshot: &'s Snapshot) -> impl Iterator<Item = &'s Entry> {
        self.visible(snapshot).held().filter(|entry| entry.document.manifest.user_invocable != Some(false))
    }

    /// Returns the skill called `name`, if the agent may see it.
    pub fn find<'s>(&self, snapshot: &'s Snapshot, name: &str) -> Option<&'s Entry> {
        snapshot.held_as(name, |entry| self.sees(entry))
    }

    /// Publishes a skill as it is now, and tells clients of a change.
    pub async fn publish(&self, entry: &Entry) -> PublishResult {
        self.shared.published.current(entry).await
    }

    /// Returns those of `entries` that are published, as they are now and in the same order.
    pub async fn publish_all<'s>(&self, entries: &[&'s Entry]) -> Vec<(&'s Entry, Arc<PublishedSkill>)> {
        let mut published = Vec::with_capacity(entries.len());
        for chunk in entries.chunks(PUBLISHED_AT_ONCE) {
            let pending = chunk.iter().map(|entry| self.publish(entry));
            for (entry, result) in chunk.iter().zip(join_all(pending).await) {
                if let PublishResult::Published(skill) = result {
                    published.push((*entry, skill));
                }
            }
        }
        published
    }

    /// Notifies clients that the tools changed.
    pub fn tools_changed(&self) {
        self.list_versions.send_modify(|versions| versions.tools += 1);
    }

    /// Follows the library while it is polled and the view is used, and notifies clients of changed lists.
    pub fn follow(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        let mut changes = self.shared.registry.subscribe();
        // Changes since the view was opened count.
        let (mut tools, mut snapshot) = (self.session.tools(), Arc::clone(&self.opened));
        let view = Arc::downgrade(self);
        async move {
            while let Some(view) = view.upgrade() {
                view.session.renew().await;
                let (new_tools, newest) = (view.session.tools(), view.shared.registry.snapshot());
                let has_new_tools = tools != new_tools;
                // Most changes of a large library are outside of a small view.
                let has_new_skills =
                    view.visible(&snapshot).fingerprint() != view.visible(&newest).fingerprint();
                let has_new_prompts = has_new_skills && view.prompts_differ(&snapshot, &newest);
                let has_new_resources = has_new_skills && view.skills_differ(&snapshot, &newest);
                (tools, snapshot) = (new_tools, newest);
                view.shared.published.prune(&snapshot);
                view.list_versions.send_if_modified(|versions| {
                    versions.tools += u64::from(has_new_tools);
                    versions.prompts += u64::from(has_new_prompts);
                    versions.resources += u64::from(has_new_resources);
                    has_new_tools || has_new_prompts || has_new_resources
                });
                drop(view);
                changes.next_snapshot().await;
            }
        }
    }

    fn prompts_differ(&self, before: &Snapshot, after: &Snapshot) -> bool {
        let key = |entry: &Entry| (entry.name().clone(), entry.document.description.clone());
        !self.invocable(before).map(key).eq(self.invocable(after).map(key))
    }

    fn skills_differ(&self, before: &Snapshot, after: &Snapshot) -> bool {
        let before: Vec<&Entry> = self.offered(before).collect();
        let after: Vec<&Entry> = self.offered(after).collect();
        before.len() != after.len() || before.iter().zip(&after).any(|(a, b)| !is_same_skill(a, b))
    }
}

/// Opens a session for `agent` within `limits`.
async fn limited_session(
    library: &Library,
    agent: Option<&str>,
    limits: &ViewLimits,
) -> Result<Session, Error> {
    let ViewLimits { scopes, tools } = limits.clone();
    let mut request = SessionRequest::default().without_reload();
    (request.agent, request.scopes, request.offered) = (agent.map(str::to_owned), scopes, tools);
    library.open_session(&request).await
}

fn is_same_skill(a: &Entry, b: &Entry) -> bool {
    Arc::ptr_eq(&a.document, &b.document) || (a.source == b.source && a.document == b.document)
}
