//! Opening a session.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::UNIX_EPOCH;

use repertoire_model::SkillName;
use repertoire_model::answer::Wording;
use repertoire_model::ledger::Ledger;
use repertoire_model::prompt::{self, Fragment};
use repertoire_model::scope::Scope;

use super::options::{Account, SessionOptions, ToolExposure};
use super::state::SessionState;
use crate::event::{Event, EventKind, Outcome, Via};
use crate::library::Library;
use crate::prompt::{Agent, AgentPrompt, BindingOptions, Inherit};
use crate::registry::{Entry, Registry, Snapshot};
use crate::store::AGENT_PREFIX;
use crate::tool::OfferedTools;
use crate::{Error, ErrorKind, clock};

/// Distinguishes the sessions that one process opens within a millisecond.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A request for a session: the agent, and limits for it.
///
/// ```
/// # pollster::block_on(async {
/// use repertoire::{Agent, Library, SessionRequest};
/// use repertoire_model::scope::{Pattern, Scope};
/// let library = Library::builder().agent(Agent::new("clerk")).open().await?;
/// let scope = Scope { allow: Some(vec![Pattern::new("pdf-*").unwrap()]), ..Scope::default() };
/// let session = library.open_session(&SessionRequest::of("clerk").within(scope)).await?;
/// assert!(session.tools().is_empty());
/// # Ok::<(), repertoire::Error>(())
/// # })?;
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionRequest {
    /// The agent; `None` for a session without one, which may see every skill.
    pub agent: Option<String>,
    /// The scopes that a skill has to be in. They are for hosts that offer fewer skills to some requests,
    /// users or tenants, and hold for sub-agents, too.
    pub scopes: Vec<Scope>,
    /// The tools that it has at most.
    pub offered: OfferedTools,
    is_on_current_snapshot: bool,
}

impl SessionRequest {
    /// Returns a request for the agent called `agent`.
    pub fn of(agent: &str) -> Self {
        Self { agent: Some(agent.to_owned()), ..Self::default() }
    }

    /// Returns the request for a session that sees only skills within `scope`, too.
    #[must_use]
    pub fn within(mut self, scope: Scope) -> Self {
        self.scopes.push(scope);
        self
    }

    /// Returns the request for a session on the current snapshot: there is no check for changes first.
    ///
    /// Meant for hosts that follow the library anyway and must not wait for its watcher to start.
    #[must_use]
    pub fn without_reload(mut self) -> Self {
        self.is_on_current_snapshot = true;
        self
    }
}

/// The options of a session for a subagent.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SubagentOptions {
    /// The agent that it is; `None` for one without a definition of its own.
    pub agent: Option<String>,
    /// The choice of what it inherits; `None` for that of the agent that starts it.
    pub inherit: Option<Inherit>,
    /// The skills that it sees at most.
    pub scope: Scope,
}

impl SubagentOptions {
    /// Returns the options of a subagent that is the agent called `agent`.
    pub fn of(agent: &str) -> Self {
        Self { agent: Some(agent.to_owned()), ..Self::default() }
    }
}

/// One agent's conversation.
///
/// It pins a catalog, answers the tools of its model, and tracks the skills in the model's context. All
/// methods take `&self`: calls may run at the same time.
///
/// ```
/// use std::sync::Arc;
/// use repertoire::{Library, MemoryProvider, SkillDefinition};
/// use serde_json::json;
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n\nBe warm.\n");
/// let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
/// let library = pollster::block_on(Library::builder().provider(provider).open())?;
/// let session = pollster::block_on(library.session())?;
/// assert!(session.catalog().text.contains("greet"));
/// let reply = pollster::block_on(session.call("load_skill", &json!({"name": "greet"})));
/// assert!(reply.text().contains("Be warm."));
/// # Ok::<(), repertoire::Error>(())
/// ```
pub struct Session {
    library: Library,
    id: String,
    agent: Option<Agent>,
    /// The options of the library with the tools of the agent.
    options: SessionOptions,
    /// The agents that this one was started by and sees no more than.
    pub(super) ceilings: Vec<Agent>,
    /// The skills that its prompt holds, which a catalog need not take for its example.
    pub(super) bound: Vec<String>,
    /// The host's parts of the system prompt.
    fragments: Vec<Fragment>,
    pub(super) wording: Wording,
    /// Its catalog left out descriptions or names when it was opened.
    pub(super) catalog_is_cut: bool,
    /// The skills that the client reads from files by itself, once that is known.
    pub(super) left_to_client: OnceLock<BTreeSet<SkillName>>,
    state: Mutex<SessionState>,
}

impl Library {
    /// Opens a session on the newest snapshot, without an agent: it may see every skill.
    pub async fn session(&self) -> Result<Session, Error> {
        self.open_session(&SessionRequest::default()).await
    }

    /// Opens a session as `request` says.
    ///
    /// Fails with [`ErrorKind::AgentNotFound`] if there is no such agent, and if one of its skills cannot be
    /// bound or is outside of the request's scopes.
    ///
    /// [`ErrorKind::AgentNotFound`]: crate::ErrorKind::AgentNotFound
    pub async fn open_session(&self, request: &SessionRequest) -> Result<Session, Error> {
        if !request.is_on_current_snapshot {
            // A session begins with the library as it is.
            self.registry().reload_if_due().await;
        }
        let agent = request.agent.as_deref().map(|name| self.agent(name).cloned()).transpose()?;
        let scopes = request.scopes.iter().cloned();
        let mut ceilings: Vec<Agent> = scopes.map(|scope| Agent { scope, ..Agent::new("request") }).collect();
        if request.offered != OfferedTools::All {
            let mut limit = Agent::new("request");
            limit.tools.offered = request.offered.clone();
            ceilings.push(limit);
        }
        Session::open(self.clone(), new_id(), agent, ceilings, Ledger::new()).await
    }
}

impl Session {
    async fn open(
        library: Library,
        id: String,
        agent: Option<Agent>,
        ceilings: Vec<Agent>,
        ledger: Ledger,
    ) -> Result<Self, Error> {
        let snapshot = library.snapshot();
        let mut options = library.resources().options.clone();
        if let Some(agent) = &agent {
            options = options.with_tools(&agent.tools);
            // An agent that reviews needs no other key for the tool; limits of a request hold nevertheless.
            if agent.reviews {
                options.tools.offered = options.tools.offered.and("review_skill_proposals");
            }
        }
        for agent in &ceilings {
            options.tools.offered = agent.tools.offered.within(&options.tools.offered);
        }
        let wording = worded(&library, &options);
        let mut bound = Vec::new();
        if let Some(agent) = &agent {
            let binding = BindingOptions::of(&options);
            let loaded =
                AgentPrompt::load_from(library.registry(), &snapshot, agent, &ceilings, &binding).await;
            if let Err(error) = &loaded {
                library.emit(&unbound(agent, &options, &snapshot, error));
            }
            bound = loaded?.bound;
        }
        let is_kept = options.loading.account == Account::Kept;
        let state = Mutex::new(SessionState::new(snapshot, ledger));
        let names = bound.iter().map(|skill| skill.name.to_string()).collect();
        let fragments = Vec::new();
        let left_to_client = OnceLock::new();
        let mut session = Self {
            library,
            id,
            agent,
            options,
            ceilings,
            bound: names,
            fragments,
            wording,
            catalog_is_cut: false,
            left_to_client,
            state,
        };
        if session.options.tools.offered.are_by_need() && session.cuts_catalog() {
            session.catalog_is_cut = true;
            session.wording.list =
                Some(session.options.tools.names.list.clone()).filter(|_| session.is_on("list_skills"));
        }
        // A session that keeps no account may show its clients no prompt at all.
        if is_kept {
            session.record().prompt_shown(&bound);
        }
        session.skill_tools().expose_active().await;
        Ok(session)
    }

    /// Opens a session for a subagent without a definition of its own.
    ///
    /// The `inherit` of this session's agent decides what it gets: nothing, so that it has no skills; the
    /// same catalog; or that and the skills that are active here, which [`Session::reattach`] then returns.
    /// Limits that this session inherited always hold.
    pub async fn subagent(&self) -> Result<Self, Error> {
        self.subagent_with(&SubagentOptions::default()).await
    }

    /// Opens a session for a subagent with these options.
    pub async fn subagent_with(&self, options: &SubagentOptions) -> Result<Self, Error> {
        let inherit = options.inherit.unwrap_or_else(|| self.inheritance());
        let agent = match &options.agent {
            Some(name) => Some(self.library.agent(name)?.clone()),
            None if inherit == Inherit::None => {
                let scope = Scope { allow: Some(Vec::new()), ..Scope::default() };
                Some(Agent { scope, ..Agent::new("subagent") })
            }
            None => self.agent.clone(),
        };
        let mut ceilings = self.ceilings.clone();
        if inherit != Inherit::None {
            ceilings.extend(self.agent.clone());
        }
        if options.scope != Scope::default() {
            ceilings.push(Agent { scope: options.scope.clone(), ..Agent::new("request") });
        }
        let ledger = if inherit == Inherit::Active { self.state().ledger.inherited() } else { Ledger::new() };
        let id = format!("{}{FAMILY_MARK}{}", self.id, new_id());
        let session = Self::open(self.library.clone(), id, agent, ceilings, ledger).await?;
        Ok(session.with_fragments(self.fragments.clone()))
    }

    /// Returns the inheritance of agents that this session's agent starts.
    pub fn inheritance(&self) -> Inherit {
        self.agent.as_ref().map_or(self.library.resources().inherit, |parent| parent.inherit)
    }

    /// Returns the session with these parts of the host in its system prompt, such as its workplace.
    #[must_use]
    pub fn with_fragments(mut self, fragments: Vec<Fragment>) -> Self {
        self.fragments = fragments;
        self.state().prompt = None;
        self
    }

    /// Returns the system prompt: the agent's own, the skills bound to it, its instructions, the parts of the
    /// host, and the pinned catalog.
    ///
    /// It is the same bytes until the catalog is refreshed.
    pub async fn prompt(&self) -> Result<String, Error> {
        // The catalog of `show_loaded` changes with every load.
        let known = self.state().prompt.clone().filter(|_| !self.options().show_loaded);
        if let Some(prompt) = known {
            return Ok(prompt.to_string());
        }
        let mut fragments = self.fragments.clone();
        if let Some(agent) = &self.agent {
            let options = BindingOptions::of(self.options());
            let prompt = AgentPrompt::load_within(self.registry(), agent, &self.ceilings, &options).await?;
            self.record().prompt_shown(&prompt.bound);
            fragments.extend(prompt.fragments);
        }
        self.rank_catalog().await;
        fragments.push(Fragment::new("skills", prompt::SKILLS, self.catalog().text.to_string()));
        let text = prompt::compose(&fragments);
        self.state().prompt = Some(text.as_str().into());
        Ok(text)
    }

    /// Returns the unique id of this session. That of a subagent begins with its parent's and a `.`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Gives the session the id of a conversation that it goes on with.
    pub fn with_id(mut self, id: &str) -> Self {
        id.clone_into(&mut self.id);
        self
    }

    /// Returns the name under which the session proposes and reviews for `principal`, or for its agent.
    pub(crate) fn author(&self, principal: Option<&str>) -> String {
        let agent = self.agent().map_or("unnamed", |agent| agent.name.as_str());
        format!("{AGENT_PREFIX}{}", principal.unwrap_or(agent))
    }

    /// Returns the agent that the session is for.
    pub fn agent(&self) -> Option<&Agent> {
        self.agent.as_ref()
    }

    /// Returns the library that the session was opened on.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Returns the registry of the library's skills.
    pub fn registry(&self) -> &Registry {
        self.library.registry()
    }

    /// Returns the host's choices, with the tools of this session's agent.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the words that answers are written with: tools that are not offered are not spoken of.
fn worded(library: &Library, options: &SessionOptions) -> Wording {
    let resources = library.resources();
    let offers =
        resources.runner.is_some() || !resources.handlers.is_empty() || options.running.host_runs_tools;
    let is_called = offers
        && options.running.exposure == ToolExposure::Stable
        && options.tools.offered.includes("call_skill_tool");
    let runs = resources.runner.is_some()
        && !options.running.host_runs_tools
        && options.tools.offered.includes("run_skill_script");
    Wording {
        call: is_called.then(|| options.tools.names.call.clone()),
        run_script: runs.then(|| options.tools.names.run_script.clone()),
        ..options.wording()
    }
}

/// Returns the event of a session not opened because a skill that is bound to `agent` cannot be given.
fn unbound(agent: &Agent, options: &SessionOptions, snapshot: &Snapshot, error: &Error) -> Event {
    let mut event = Event::new(EventKind::SkillLoaded, "prompt", "", clock::now());
    let is_at = |entry: &&Entry| error.path() == Some(Path::new(&*entry.path));
    if let Some(entry) = snapshot.entries().iter().find(is_at) {
        entry.describe(&mut event);
    }
    event.agent = Some(agent.name.clone());
    event.error = Some(if error.kind() == ErrorKind::Io { "failed" } else { "broken" }.to_owned());
    (event.outcome, event.surface, event.via) = (Outcome::Error, options.surface, Via::Bound);
    event
}

/// Separates the id of a session from those of the sessions that it starts.
const FAMILY_MARK: char = '.';

/// Returns `true` if the sessions with these ids belong to one conversation: one started the other, or both
/// were started by a third, at whatever distance.
#[cfg(feature = "fs")]
pub(crate) fn are_related(one: &str, other: &str) -> bool {
    let first = |id: &str| id.find(FAMILY_MARK).unwrap_or(id.len());
    one[..first(one)] == other[..first(other)]
}

/// Returns an id that is unique by the clock, the process number and a counter.
fn new_id() -> String {
    let now = clock::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{now:x}-{:x}-{number:x}", clock::process_id())
}

/// Returns the id of the process that opened the session `id`, unless a host chose its id.
pub fn process_of(id: &str) -> Option<u32> {
    let mut parts = id[..id.find(FAMILY_MARK).unwrap_or(id.len())].split('-');
    let process = u32::from_str_radix(parts.nth(1)?, 16).ok()?;
    (parts.next().is_some() && parts.next().is_none()).then_some(process)
}

const _: fn() = || {
    fn is_shareable<T: Send + Sync>() {}
    is_shareable::<Session>();
    is_shareable::<Arc<Session>>();
};
