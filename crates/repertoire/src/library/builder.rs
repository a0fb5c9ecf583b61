//! Builder of a library.

#[cfg(feature = "fs")]
use std::path::PathBuf;
use std::sync::Arc;

use repertoire_model::Policy;
use repertoire_model::scope::Pattern;

use super::handle::{Library, LibraryState};
use super::options::SessionResources;
use crate::Error;
#[cfg(feature = "fs")]
use crate::discovery::{self, DiscoveryInput};
use crate::event::{EventSink, Sinks};
use crate::handler::{HostHandler, SkillHandler};
use crate::prompt::{Agent, Inherit};
use crate::proposal::{ProposalMode, Proposer};
use crate::provider::Provider;
#[cfg(feature = "fs")]
use crate::provider::fs::{FsOptions, FsProvider};
#[cfg(feature = "fs")]
use crate::registry::ReloadOptions;
use crate::registry::{Registry, RegistryOptions};
use crate::runner::Runner;
use crate::searcher::{Reranker, Searcher};
use crate::session::SessionOptions;
use crate::tool::Tool;

/// Configures and opens a [`Library`].
///
/// ```
/// # pollster::block_on(async {
/// use repertoire::{Agent, Library, MemoryProvider, SessionRequest, SkillDefinition};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
/// let library = Library::builder()
///     .directory("./skills")
///     .provider(MemoryProvider::new("builtin", vec![skill]))
///     .agent(Agent::new("host"))
///     .open()
///     .await?;
/// assert!(library.open_session(&SessionRequest::of("host")).await.is_ok());
/// # Ok::<(), repertoire::Error>(())
/// # })?;
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Default)]
pub struct LibraryBuilder {
    providers: Vec<Arc<dyn Provider>>,
    policy: Policy,
    disabled: Vec<Pattern>,
    resources: SessionResources,
    #[cfg(feature = "fs")]
    reload: Option<ReloadOptions>,
}

impl Library {
    /// Returns a builder of a library without providers, with default options.
    pub fn builder() -> LibraryBuilder {
        LibraryBuilder::default()
    }
}

#[cfg(feature = "fs")]
/// Skills in directories.
impl LibraryBuilder {
    /// Adds the skills in the directory `path`, labelled with that path. It need not exist yet.
    ///
    /// Of two skills of one name the one from the earlier source wins.
    #[must_use]
    pub fn directory(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let label = path.display().to_string();
        self.directory_with(FsOptions::new(label, path))
    }

    /// Adds the skills in a directory with the given options.
    #[must_use]
    pub fn directory_with(mut self, options: FsOptions) -> Self {
        self.providers.push(Arc::new(FsProvider::new(options)));
        self
    }

    /// Adds the directories in which agents look for skills, those of the project around `working_directory`
    /// before those of the user below `home`.
    #[must_use]
    pub fn discover(
        mut self,
        working_directory: impl Into<PathBuf>,
        home: impl Into<Option<PathBuf>>,
    ) -> Self {
        let found = discovery::discover(&DiscoveryInput::new(working_directory, home));
        let directories = found
            .lasting_roots()
            .map(|root| -> Arc<dyn Provider> { Arc::new(FsProvider::new(root.options())) });
        self.providers.extend(directories);
        self
    }

    /// Follows changes of the skills while the library is open; [`LibraryBuilder::reload`] with defaults.
    #[must_use]
    pub fn watch(self) -> Self {
        self.reload(ReloadOptions::default())
    }

    /// Follows changes of the skills with `options`, while the library is open.
    #[must_use]
    pub fn reload(mut self, options: ReloadOptions) -> Self {
        self.reload = Some(options);
        self
    }
}

impl LibraryBuilder {
    /// Adds a source of skills.
    #[must_use]
    pub fn provider(mut self, provider: impl Provider + 'static) -> Self {
        self.providers.push(Arc::new(provider));
        self
    }

    /// Adds sources of skills that are shared already.
    #[must_use]
    pub fn providers(mut self, providers: impl IntoIterator<Item = Arc<dyn Provider>>) -> Self {
        self.providers.extend(providers);
        self
    }

    /// Sets the policy that skills are judged by, for the whole library and all its directories.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Switches off the skills that match one of `patterns`, as well as those disabled by the policy: for
    /// agents they do not exist.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use repertoire::model::Pattern;
    /// use repertoire::{Library, MemoryProvider, SkillDefinition};
    /// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
    /// let builder = Library::builder().provider(MemoryProvider::new("builtin", vec![skill]));
    /// let library = builder.disabled([Pattern::new("gr*")?]).open().await?;
    /// assert_eq!(library.snapshot().active().count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn disabled(mut self, patterns: impl IntoIterator<Item = Pattern>) -> Self {
        self.disabled.extend(patterns);
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

    /// Sets the searcher with which sessions find skills for a task. A searcher serves one library.
    #[must_use]
    pub fn searcher(mut self, searcher: impl Searcher + 'static) -> Self {
        self.resources.searcher = Some(Arc::new(searcher));
        self
    }

    /// Sets the reranker, which gets the ten best results of each search of a session.
    #[must_use]
    pub fn reranker(mut self, reranker: impl Reranker + 'static) -> Self {
        self.resources.reranker = Some(Arc::new(reranker));
        self
    }

    /// Adds a tool of the host.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.resources.tools.push(Arc::new(tool));
        self
    }

    /// Sets the runner with which sessions call tools of skills and run their scripts.
    #[must_use]
    pub fn runner(mut self, runner: impl Runner + 'static) -> Self {
        self.resources.runner = Some(Arc::new(runner));
        self
    }

    /// Sets a runner that is only asked for the tools of each approved `tools.py` and never runs anything. In
    /// sessions without a runner, models are told by it which tools cannot be called because running is off.
    #[must_use]
    pub fn recorded_tools(mut self, runner: impl Runner + 'static) -> Self {
        self.resources.recorded_tools = Some(Arc::new(runner));
        self
    }

    /// Sets the proposer with which agents propose changes of skills, unless its rules turn proposals off.
    #[must_use]
    pub fn proposer(mut self, proposer: Arc<Proposer>) -> Self {
        self.resources.proposer = Some(proposer).filter(|it| it.rules().mode != ProposalMode::Off);
        self
    }

    /// Adds the host's handler for `tool` of the skill `skill`; it takes precedence over the skill's own.
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
    pub fn sink(mut self, sink: impl EventSink + 'static) -> Self {
        self.resources.sinks = self.resources.sinks.with(Arc::new(sink));
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
    /// Fails with [`ErrorKind::ReservedName`] if two tools, or two arguments of one, have the same name, and
    /// with [`ErrorKind::Refused`] if the policy refuses the library.
    ///
    /// [`ErrorKind::ReservedName`]: crate::ErrorKind::ReservedName
    /// [`ErrorKind::Refused`]: crate::ErrorKind::Refused
    pub async fn open(self) -> Result<Library, Error> {
        let library = self.open_for_inspection().await?;
        library.registry().accepted().await?;
        Ok(library)
    }

    /// Opens the library like [`Self::open`], even if the policy refuses it; see [`Registry::accepted`].
    ///
    /// Meant for tools that report everything that is wrong with a library.
    ///
    /// [`Registry::accepted`]: crate::Registry::accepted
    pub async fn open_for_inspection(self) -> Result<Library, Error> {
        let Self { providers, mut policy, disabled, resources, .. } = self;
        policy.disabled.extend(disabled);
        resources.check_names()?;
        let options = RegistryOptions { policy, reserved_names: resources.reserved_names() };
        let registry = Registry::open_with(providers, options).await;
        let shared = LibraryState {
            resources,
            #[cfg(feature = "fs")]
            watcher: self.reload.map(|options| registry.watch(options)).transpose()?.map(Arc::new),
        };
        Ok(Library { registry, shared: Arc::new(shared) })
    }
}
