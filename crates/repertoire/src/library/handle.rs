//! The library: what sessions are opened on.

use std::sync::Arc;

use repertoire_model::CatalogOptions;

use super::options::SessionResources;
use crate::event::{Event, EventSink};
use crate::prompt::Agent;
use crate::proposal::Proposer;
#[cfg(feature = "fs")]
use crate::registry::Watcher;
use crate::registry::{Registry, Snapshot, Subscription};
use crate::runner::Runner;
use crate::searcher::Searcher;
use crate::session::SessionOptions;
use crate::{Error, ErrorKind};

/// A registry of skills with what sessions are given: options, agents, tools, event sinks, searcher, runner.
///
/// It is a cheap handle: clones share one library.
///
/// ```
/// # pollster::block_on(async {
/// use repertoire::{Library, MemoryProvider, SkillDefinition};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
/// let library = Library::builder()
///     .provider(MemoryProvider::new("builtin", vec![skill]))
///     .open()
///     .await?;
/// assert_eq!(library.snapshot().active().count(), 1);
/// let session = library.session().await?;
/// assert!(session.catalog().text.contains("greet"));
/// # Ok::<(), repertoire::Error>(())
/// # })?;
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Clone)]
pub struct Library {
    pub(super) registry: Registry,
    pub(super) shared: Arc<LibraryState>,
}

/// State that all clones of a library share.
#[derive(Clone, Default)]
pub(super) struct LibraryState {
    pub(super) resources: SessionResources,
    #[cfg(feature = "fs")]
    pub(super) watcher: Option<Arc<Watcher>>,
}

impl Library {
    /// Returns the registry of the library's skills.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the newest snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.registry.snapshot()
    }

    /// Returns the watcher that follows the library's skills, if
    /// [`LibraryBuilder::watch`](super::LibraryBuilder::watch) was called.
    #[cfg(feature = "fs")]
    pub fn watcher(&self) -> Option<&Watcher> {
        self.shared.watcher.as_deref()
    }

    /// Subscribes to changes of the skills; see [`Registry::subscribe`].
    pub fn subscribe(&self) -> Subscription {
        self.registry.subscribe()
    }

    /// Lists every provider again and returns the newest snapshot; see [`Registry::reload`].
    pub async fn reload(&self) -> Arc<Snapshot> {
        self.registry.reload().await
    }

    /// Returns the agents, sorted by name.
    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.resources().agents.values()
    }

    /// Returns the agent called `name`.
    ///
    /// Fails with [`ErrorKind::AgentNotFound`] if there is not one.
    pub fn agent(&self, name: &str) -> Result<&Agent, Error> {
        let agents = &self.resources().agents;
        agents.get(name).ok_or_else(|| Error::new(ErrorKind::AgentNotFound).about(name))
    }

    /// Returns the runner of tools and scripts of skills, if there is one.
    pub fn runner(&self) -> Option<&Arc<dyn Runner>> {
        self.resources().runner.as_ref()
    }

    /// Returns the proposer of changes of skills, if there is one.
    pub fn proposer(&self) -> Option<&Arc<Proposer>> {
        self.resources().proposer.as_ref()
    }

    /// Returns how catalogs are written: as the host chose, with the names of the tools that sessions offer.
    pub fn catalog_options(&self) -> CatalogOptions {
        let mut options = self.resources().options.catalog_options();
        if self.searcher().is_none() {
            options.search_tool = None;
        }
        options
    }

    /// Returns the searcher, if there is one.
    pub fn searcher(&self) -> Option<&Arc<dyn Searcher>> {
        self.resources().searcher.as_ref()
    }

    /// Prepares the searcher for the newest snapshot, so that the first search need not wait for an index.
    pub async fn warm_up_search(&self) {
        if let Some(searcher) = self.searcher() {
            searcher.warm_up(self.registry(), &self.snapshot()).await;
        }
    }

    /// Stores what the searcher can use in the next run.
    pub async fn save(&self) {
        if let Some(searcher) = self.searcher() {
            searcher.save().await;
        }
    }

    /// Returns this library with another sink for the events of its sessions; open sessions stay as they are.
    #[must_use]
    pub fn with_sink(&self, sink: Arc<dyn EventSink>) -> Self {
        let mut shared = (*self.shared).clone();
        shared.resources.sinks = shared.resources.sinks.with(sink);
        Self { registry: self.registry.clone(), shared: Arc::new(shared) }
    }

    /// Returns this library with other agents. Sessions that are open stay as they are.
    #[must_use]
    pub fn with_agents(&self, agents: impl IntoIterator<Item = Agent>) -> Self {
        let mut shared = (*self.shared).clone();
        shared.resources.agents = agents.into_iter().map(|agent| (agent.name.clone(), agent)).collect();
        Self { registry: self.registry.clone(), shared: Arc::new(shared) }
    }

    /// Returns this library with other options of sessions. Sessions that are open stay as they are.
    ///
    /// Fails with [`ErrorKind::ReservedName`] if two tools, or two arguments of one, have the same name.
    pub fn with_session_options(&self, options: SessionOptions) -> Result<Self, Error> {
        let mut shared = (*self.shared).clone();
        shared.resources.options = options;
        shared.resources.check_names()?;
        Ok(Self { registry: self.registry.clone(), shared: Arc::new(shared) })
    }

    /// Hands `event` to the event sinks.
    pub fn emit(&self, event: &Event) {
        self.resources().sinks.emit(event);
    }

    pub(crate) fn resources(&self) -> &SessionResources {
        &self.shared.resources
    }
}

/// A library with default options over the skills of a registry.
impl From<Registry> for Library {
    fn from(registry: Registry) -> Self {
        Self { registry, shared: Arc::default() }
    }
}
