//! One agent's view of the library: its skills, session, instructions and list versions.

use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::join_all;
use repertoire::registry::VisibleSkills;
use repertoire::store::AGENT_PREFIX;
use repertoire::tool::OfferedTools;
use repertoire::{Agent, Entry, Library, Session, SessionRequest, Snapshot, State};
use repertoire_model::catalog::CatalogOptions;
use repertoire_model::scope::Scope;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;

use crate::instructions::{self, InstructionsLimit};
use crate::published_skills::{PublishResult, PublishedSkill, Renewal};
use crate::record::Principal;
use crate::server_state::ServerState;
use crate::{Error, ServerOptions};

/// Maximum concurrent calls of one agent per processor; more wait. They mostly read cached files, so more would not be faster,
/// and each takes a thread.
const CALLS_PER_PROCESSOR: usize = 4;

/// Maximum concurrent calls of one agent per processor that run tools of skills; more wait. They have their own limit so that
/// reading skills never waits for a running tool.
const RUNS_PER_PROCESSOR: usize = 4;

/// The start of the name of a person who proposes or decides.
const USER_PREFIX: &str = "user:";

/// The number of skills that are published concurrently.
pub(crate) const PUBLISHED_AT_ONCE: usize = 16;

/// Counts the changes of each list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ListVersions {
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
    pub(crate) resources: u64,
}

/// One agent's view of the library, or the view without restriction.
pub(crate) struct AgentView {
    pub(crate) shared: Arc<ServerState>,
    /// Answers the calls of all connections: a server sees no transcript, so it tracks none.
    pub(crate) session: Arc<Session>,
    agent: Option<Agent>,
    /// The library with the agents of the configuration that the view was opened under.
    library: Library,
    /// The limits beside those of the agent.
    limits: ViewLimits,
    /// The snapshot when the view was opened.
    opened: Arc<Snapshot>,
    list_versions: watch::Sender<ListVersions>,
    pub(crate) calls: Arc<Semaphore>,
    pub(crate) runs: Arc<Semaphore>,
    /// The task that follows the library, for a view that is not followed by others.
    follower: OnceLock<AbortHandle>,
    /// The fingerprint of the skills, and the size of their catalog.
    catalog_size: Mutex<Option<(u64, CatalogSize)>>,
}

/// The tokens of a catalog, and the number of skills whose descriptions are shortened in it.
pub(crate) type CatalogSize = (usize, usize);

/// Limits of a view beside those of its agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ViewLimits {
    /// The skills that it may see: those that all of them allow.
    pub(crate) scopes: Vec<Scope>,
    /// The tools for models that it may have.
    pub(crate) tools: OfferedTools,
}

impl Drop for AgentView {
    fn drop(&mut self) {
        if let Some(follower) = self.follower.get() {
            follower.abort();
        }
    }
}

impl AgentView {
    pub(crate) async fn open(
        shared: Arc<ServerState>,
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
        }))
    }

    /// Opens a view of those skills of this one that `limit` allows. It shares the limits on concurrent calls, and follows the
    /// library for as long as it is used.
    ///
    /// Fails if a skill that is bound to the agent is not among them.
    pub(crate) async fn narrowed(&self, limit: Scope) -> Result<Arc<Self>, repertoire::Error> {
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
        });
        view.start_following();
        Ok(view)
    }

    /// Follows the library for as long as the view is used.
    pub(crate) fn start_following(self: &Arc<Self>) {
        let _ = self.follower.set(tokio::spawn(self.follow()).abort_handle());
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.shared.options
    }

    /// Returns the agent whose view it is, if it is one's.
    pub(crate) fn agent(&self) -> Option<&Agent> {
        self.agent.as_ref()
    }

    /// Returns whether the view has the whole library.
    pub(crate) fn is_unrestricted(&self) -> bool {
        self.agent.is_none() && self.limits.scopes.iter().all(|scope| *scope == Scope::default())
    }

    /// Returns the list versions, to wait for changes.
    pub(crate) fn list_versions(&self) -> watch::Receiver<ListVersions> {
        self.list_versions.subscribe()
    }

    /// Returns whether the skill `name` of `source` may be changed, or made if it is not in `snapshot`.
    ///
    /// A skill that may not be seen can neither be changed nor made, so that the answer does not tell if there is one.
    pub(crate) fn may_change(&self, snapshot: &Snapshot, source: &str, name: &str) -> bool {
        match snapshot.named(name).iter().find(|entry| &*entry.source == source) {
            Some(entry) => self.sees(entry),
            None => {
                let agent = self.agent.iter().map(|agent| &agent.scope);
                self.limits.scopes.iter().chain(agent).all(|scope| scope.allows_new(source, name))
            }
        }
    }

    /// Returns the name under which `principal` proposes and decides: `agent:NAME` or `user:NAME`; `None` if nobody is known.
    pub(crate) fn author(&self, principal: &Principal) -> Option<String> {
        match (&self.agent, &principal.name) {
            (Some(_), Some(name)) => Some(format!("{AGENT_PREFIX}{name}")),
            (Some(agent), None) => Some(format!("{AGENT_PREFIX}{}", agent.name)),
            (None, Some(name)) => Some(format!("{USER_PREFIX}{name}")),
            (None, None) => None,
        }
    }

    /// Returns whether a skill that is called `name` exists, and may not be seen.
    pub(crate) fn hides(&self, snapshot: &Snapshot, name: &str) -> bool {
        let named = snapshot.named(name).iter().chain(snapshot.qualified(name));
        let mut reachable = named.filter(|entry| entry.state != State::Disabled).peekable();
        reachable.peek().is_some() && !reachable.any(|entry| self.sees(entry))
    }

    /// Returns whether the agent may see the skill.
    pub(crate) fn sees(&self, entry: &Entry) -> bool {
        self.limits.scopes.iter().all(|scope| entry.is_within(scope))
            && self.agent.as_ref().is_none_or(|agent| agent.sees(entry))
    }

    /// Returns whether records about the skill `name` of `source` may be seen. Without a source they may be about any skill of the
    /// name, so all of these must be visible.
    pub(crate) fn sees_records(&self, snapshot: &Snapshot, name: &str, source: Option<&str>) -> bool {
        let named = snapshot.named(name);
        match source {
            Some(source) => named.iter().any(|entry| &*entry.source == source && self.sees(entry)),
            None => !named.is_empty() && named.iter().all(|entry| self.sees(entry)),
        }
    }

    /// Returns the skills of `snapshot` that the agent may see: those that [`AgentView::sees`] accepts.
    pub(crate) fn visible<'s>(&self, snapshot: &'s Snapshot) -> VisibleSkills<'s> {
        self.session.lookup().visible_skills(snapshot)
    }

    /// Returns the size of the catalog of the skills with this fingerprint, if it is known.
    pub(crate) fn catalog_size(&self, fingerprint: u64) -> Option<CatalogSize> {
        let known = *self.catalog_size.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(of, _)| *of == fingerprint).map(|(_, size)| size)
    }

    /// Keeps the size of the catalog of the skills with this fingerprint.
    pub(crate) fn keep_catalog_size(&self, fingerprint: u64, size: CatalogSize) {
        *self.catalog_size.lock().unwrap_or_else(PoisonError::into_inner) = Some((fingerprint, size));
    }

    /// Opens a session for one client alone.
    pub(crate) async fn open_session(&self) -> Result<Arc<Session>, Error> {
        let agent = self.agent.as_ref().map(|agent| agent.name.as_str());
        Ok(Arc::new(limited_session(&self.library, agent, &self.limits).await?))
    }

    /// Returns the skills that models are offered, sorted by name.
    pub(crate) fn offered<'s>(&self, snapshot: &'s Snapshot) -> impl Iterator<Item = &'s Entry> {
        self.visible(snapshot).held().filter(|entry| entry.allows_models())
    }

    /// Returns the skills that people may invoke, sorted by name.
    pub(crate) fn invocable<'s>(&self, snapshot: &'s Snapshot) -> impl Iterator<Item = &'s Entry> {
        self.visible(snapshot).held().filter(|entry| entry.document.manifest.user_invocable != Some(false))
    }

    /// Returns the skill called `name`, if the agent may see it.
    pub(crate) fn find<'s>(&self, snapshot: &'s Snapshot, name: &str) -> Option<&'s Entry> {
        snapshot.held_as(name, |entry| self.sees(entry))
    }

    /// Publishes a skill as it is now, and announces a change.
    pub(crate) async fn publish(&self, entry: &Entry) -> PublishResult {
        let (result, renewal) = self.shared.published.current(entry).await;
        self.announce(renewal);
        result
    }

    /// Returns those of `entries` that are published, as they are now and in the same order.
    pub(crate) async fn publish_all<'s>(
        &self,
        entries: &[&'s Entry],
    ) -> Vec<(&'s Entry, Arc<PublishedSkill>)> {
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

    /// Publishes a skill again because its files differ from the published ones, and announces it.
    pub(crate) async fn republish(&self, entry: &Entry) {
        let (_, renewal) = self.shared.published.renew(entry).await;
        self.announce(renewal);
    }

    /// Notifies the clients of all agents if a published skill has changed.
    fn announce(&self, renewal: Renewal) {
        if renewal == Renewal::Changed {
            self.shared.republished.send_modify(|count| *count += 1);
        }
    }

    /// Notifies clients that the tools changed.
    pub(crate) fn tools_changed(&self) {
        self.list_versions.send_modify(|versions| versions.tools += 1);
    }

    /// Returns the catalog for the `instructions` of `client`, the same bytes for the same snapshot; empty if there is none.
    pub(crate) fn instructions(&self, client: Option<&str>) -> String {
        let snapshot = self.shared.registry.snapshot();
        // The instructions hold no prompt of the agent, so the catalog is written as without one.
        let mut options = self.session.catalog_options();
        options.bound.clear();
        let limit = InstructionsLimit::of(client, self.options());
        let visible = self.visible(&snapshot);
        let notices = self.session.lookup().notices(&snapshot);
        instructions::render(limit, &options, &notices, |options: &CatalogOptions| {
            snapshot.catalog_of(options, |entry| visible.contains(entry)).ok()
        })
    }

    /// Follows the library for as long as it is polled and the view is used, and notifies clients of changed lists.
    pub(crate) fn follow(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        let mut changes = self.shared.registry.subscribe();
        // Changes since the view was opened count.
        let (mut tools, mut snapshot) = (self.session.tools(), Arc::clone(&self.opened));
        let view = Arc::downgrade(self);
        async move {
            while let Some(view) = view.upgrade() {
                view.session.renew().await;
                let (new_tools, newest) = (view.session.tools(), view.shared.registry.snapshot());
                let has_new_tools = view.options().tools.is_on() && tools != new_tools;
                // Most changes of a large library are outside of a small view.
                let has_new_skills =
                    view.visible(&snapshot).fingerprint() != view.visible(&newest).fingerprint();
                let has_new_prompts = has_new_skills && view.prompts_differ(&snapshot, &newest);
                let has_new_resources = has_new_skills
                    && view.options().extension.is_on()
                    && view.skills_differ(&snapshot, &newest);
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
) -> Result<Session, repertoire::Error> {
    let ViewLimits { scopes, tools } = limits.clone();
    let mut request = SessionRequest::default().without_reload();
    (request.agent, request.scopes, request.offered) = (agent.map(str::to_owned), scopes, tools);
    library.open_session(&request).await
}

fn is_same_skill(a: &Entry, b: &Entry) -> bool {
    Arc::ptr_eq(&a.document, &b.document) || (a.source == b.source && a.document == b.document)
}
