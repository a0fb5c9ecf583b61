//! A registry put together piece by piece, with everything that sessions are given.

use std::collections::BTreeMap;
use std::sync::Arc;

use repertoire_model::Policy;

use super::open::Registry;
use crate::agent::{Agent, Inherit};
use crate::event::{EventSink, Sinks};
use crate::provider::Provider;
use crate::run::{Executor, HostHandler, SkillHandler};
use crate::search::SearchOptions;
use crate::session::SessionOptions;
use crate::tool::{Tool, is_reserved};
use crate::{Error, ErrorKind};

/// What sessions are given.
#[derive(Default)]
pub(crate) struct Equipment {
    /// The host's choices.
    pub(crate) options: SessionOptions,
    /// The agents there are, by name.
    pub(crate) agents: BTreeMap<String, Agent>,
    /// What agents that nobody described leave to those they start.
    pub(crate) inherit: Inherit,
    /// The host's own tools.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// Whoever is told of calls.
    pub(crate) sinks: Sinks,
    /// How skills are found.
    pub(crate) search: SearchOptions,
    /// What runs tools and scripts of skills, where anything does.
    pub(crate) executor: Option<Arc<Executor>>,
    /// The host's own handlers of such tools.
    pub(crate) handlers: Vec<HostHandler>,
}

impl Equipment {
    /// Returns whether a tool is called `name`, so that a skill of that name could not be told from it.
    pub(super) fn has_tool(&self, name: &str) -> bool {
        is_reserved(name, &self.options.names) || self.tools.iter().any(|tool| tool.name() == name)
    }
}

/// Puts a [`Registry`] together.
///
/// ```
/// use std::sync::Arc;
/// use repertoire::{Agent, MemoryProvider, Registry, SkillDefinition};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
/// let registry = Registry::builder()
///     .provider(Arc::new(MemoryProvider::new("builtin", vec![skill])))
///     .agent(Agent::new("host"))
///     .open_blocking()?;
/// assert!(registry.session_blocking(Some("host")).is_ok());
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Default)]
pub struct RegistryBuilder {
    providers: Vec<Arc<dyn Provider>>,
    policy: Policy,
    equipment: Equipment,
}

impl Registry {
    /// Returns a builder of a registry with no providers and the usual choices.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }
}

impl RegistryBuilder {
    /// Adds a source of skills; earlier ones win over later ones.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// Adds sources of skills; earlier ones win over later ones.
    #[must_use]
    pub fn providers(mut self, providers: impl IntoIterator<Item = Arc<dyn Provider>>) -> Self {
        self.providers.extend(providers);
        self
    }

    /// Sets how skills are judged.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the choices that all sessions share.
    #[must_use]
    pub fn session_options(mut self, options: SessionOptions) -> Self {
        self.equipment.options = options;
        self
    }

    /// Adds an agent, in place of one of the same name.
    #[must_use]
    pub fn agent(mut self, agent: Agent) -> Self {
        self.equipment.agents.insert(agent.name.clone(), agent);
        self
    }

    /// Sets what a session without an agent leaves to the agents it starts.
    #[must_use]
    pub fn inherit(mut self, inherit: Inherit) -> Self {
        self.equipment.inherit = inherit;
        self
    }

    /// Sets how skills are found.
    #[must_use]
    pub fn search_options(mut self, options: SearchOptions) -> Self {
        self.equipment.search = options;
        self
    }

    /// Adds a tool of the host's own.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.equipment.tools.push(tool);
        self
    }

    /// Lets sessions call the tools of skills and run their scripts.
    #[must_use]
    pub fn executor(mut self, executor: Arc<Executor>) -> Self {
        self.equipment.executor = Some(executor);
        self
    }

    /// Adds a handler of the host's own for the tool `tool` that the skill `skill` declares, before any that the skill brings.
    #[must_use]
    pub fn handler(
        mut self,
        skill: impl Into<String>,
        tool: impl Into<String>,
        handler: Arc<dyn SkillHandler>,
    ) -> Self {
        self.equipment.handlers.push(HostHandler { skill: skill.into(), tool: tool.into(), handler });
        self
    }

    /// Adds whoever is to be told of every call.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.equipment.sinks = self.equipment.sinks.with(sink);
        self
    }

    /// Sets whoever is to be told of every call, in place of those before.
    #[must_use]
    pub fn sinks(mut self, sinks: Sinks) -> Self {
        self.equipment.sinks = sinks;
        self
    }

    /// Opens the registry, as [`Registry::open`].
    ///
    /// Fails with [`ErrorKind::ReservedName`] where two tools, or two arguments of one, would have the same name.
    pub async fn open(self) -> Result<Registry, Error> {
        let registry = self.open_for_inspection().await?;
        registry.snapshot().accepted()?;
        Ok(registry)
    }

    /// Opens the registry, as [`Registry::open_for_inspection`].
    pub async fn open_for_inspection(self) -> Result<Registry, Error> {
        if let Some(clash) = self.equipment.options.clash() {
            return Err(Error::new(ErrorKind::ReservedName).about(clash));
        }
        let tools = &self.equipment.tools;
        for (index, tool) in tools.iter().enumerate() {
            let is_taken = tools[..index].iter().any(|other| other.name() == tool.name());
            if is_taken || is_reserved(tool.name(), &self.equipment.options.names) {
                return Err(Error::new(ErrorKind::ReservedName).about(tool.name()));
            }
        }
        let handlers = &self.equipment.handlers;
        for (index, handler) in handlers.iter().enumerate() {
            let is_same =
                |other: &HostHandler| (&other.skill, &other.tool) == (&handler.skill, &handler.tool);
            let is_taken = handlers[..index].iter().any(is_same);
            let is_tool = tools.iter().any(|tool| tool.name() == handler.tool);
            if is_taken || is_tool || is_reserved(&handler.tool, &self.equipment.options.names) {
                return Err(Error::new(ErrorKind::ReservedName).about(&handler.tool));
            }
        }
        Ok(Registry::equipped(self.providers, self.policy, self.equipment).await)
    }

    /// Opens the registry, as [`RegistryBuilder::open`], and waits for it.
    pub fn open_blocking(self) -> Result<Registry, Error> {
        pollster::block_on(self.open())
    }
}
