//! Builder of a library.

use std::sync::Arc;

use repertoire_model::Policy;

use super::handle::Library;
use super::options::SessionResources;
use crate::Error;
use crate::agent::{Agent, Inherit};
use crate::event::{EventSink, Sinks};
use crate::provider::Provider;
use crate::registry::{Registry, RegistryOptions};
use crate::run::{Executor, HostHandler, SkillHandler};
use crate::search::SearchOptions;
use crate::session::SessionOptions;
use crate::tool::Tool;

/// Configures and opens a [`Library`].
///
/// ```
/// use std::sync::Arc;
/// use repertoire::{Agent, Library, MemoryProvider, SkillDefinition};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
/// let library = Library::builder()
///     .provider(Arc::new(MemoryProvider::new("builtin", vec![skill])))
///     .agent(Agent::new("host"))
///     .open_blocking()?;
/// assert!(library.session_blocking(Some("host")).is_ok());
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Default)]
pub struct LibraryBuilder {
    providers: Vec<Arc<dyn Provider>>,
    policy: Policy,
    resources: SessionResources,
    search: SearchOptions,
}

impl Library {
    /// Returns a builder of a library without providers, with default options.
    pub fn builder() -> LibraryBuilder {
        LibraryBuilder::default()
    }
}

impl LibraryBuilder {
    /// Adds a source of skills; earlier sources win over later ones.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// Adds sources of skills; earlier sources win over later ones.
    #[must_use]
    pub fn providers(mut self, providers: impl IntoIterator<Item = Arc<dyn Provider>>) -> Self {
        self.providers.extend(providers);
        self
    }

    /// Sets the policy that skills are judged by.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the options of all sessions.
    #[must_use]
    pub fn session_options(mut self, options: SessionOptions) -> Self {
        self.resources.options = options;
        self
    }

    /// Adds an agent; replaces one of the same name.
    #[must_use]
    pub fn agent(mut self, agent: Agent) -> Self {
        self.resources.agents.insert(agent.name.clone(), agent);
        self
    }

    /// Sets what sessions without an agent pass on to the agents they start.
    #[must_use]
    pub fn inherit(mut self, inherit: Inherit) -> Self {
        self.resources.inherit = inherit;
        self
    }

    /// Sets the options of search.
    #[must_use]
    pub fn search_options(mut self, options: SearchOptions) -> Self {
        self.search = options;
        self
    }

    /// Adds a tool of the host.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.resources.tools.push(tool);
        self
    }

    /// Sets the executor with which sessions call tools of skills and run their scripts.
    #[must_use]
    pub fn executor(mut self, executor: Arc<Executor>) -> Self {
        self.resources.executor = Some(executor);
        self
    }

    /// Adds a handler of the host for the tool `tool` of the skill `skill`; it takes precedence over the skill's own.
    #[must_use]
    pub fn handler(
        mut self,
        skill: impl Into<String>,
        tool: impl Into<String>,
        handler: Arc<dyn SkillHandler>,
    ) -> Self {
        self.resources.handlers.push(HostHandler { skill: skill.into(), tool: tool.into(), handler });
        self
    }

    /// Adds a sink that receives an event for every call.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.resources.sinks = self.resources.sinks.with(sink);
        self
    }

    /// Sets the event sinks, replacing all that were added before.
    #[must_use]
    pub fn sinks(mut self, sinks: Sinks) -> Self {
        self.resources.sinks = sinks;
        self
    }

    /// Opens the library and takes the first snapshot.
    ///
    /// Fails with [`ErrorKind::ReservedName`] if two tools, or two arguments of one, have the same name, and with
    /// [`ErrorKind::Refused`] if the policy refuses the library.
    ///
    /// [`ErrorKind::ReservedName`]: crate::ErrorKind::ReservedName
    /// [`ErrorKind::Refused`]: crate::ErrorKind::Refused
    pub async fn open(self) -> Result<Library, Error> {
        let library = self.open_for_inspection().await?;
        library.snapshot().accepted()?;
        Ok(library)
    }

    /// Opens the library as [`LibraryBuilder::open`] does, even if the policy refuses it; see [`Snapshot::accepted`].
    ///
    /// Meant for tools that report everything that is wrong with a library.
    ///
    /// [`Snapshot::accepted`]: crate::Snapshot::accepted
    pub async fn open_for_inspection(self) -> Result<Library, Error> {
        let Self { providers, policy, resources, search } = self;
        resources.check_names()?;
        let options = RegistryOptions { policy, reserved_names: resources.reserved_names() };
        let registry = Registry::open_with(providers, options).await;
        Ok(Library::new(registry, resources, search))
    }

    /// Opens the library as [`LibraryBuilder::open`] does, and waits for it.
    pub fn open_blocking(self) -> Result<Library, Error> {
        pollster::block_on(self.open())
    }
}
