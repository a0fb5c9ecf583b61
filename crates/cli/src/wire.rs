//! The composition root: configuration and flags in, providers and a registry out.

mod embedder;
mod executor;
mod user;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use repertoire::discovery::{self, DiscoveryInput, Presence, Tier};
use repertoire::event::{JsonlOptions, JsonlSink, Sinks};
use repertoire::provider::Problem;
use repertoire::provider::fs::{FsOptions, FsProvider, LinkScope};
use repertoire::search::SearchOptions;
use repertoire::{
    Entry, Lookup, Provider, Registry, ReloadMode, ReloadOptions, Session, SessionOptions, Snapshot, Watcher,
};
use repertoire_exec::Executor;
use repertoire_model::answer::Render;
use repertoire_model::{Policy, Severity};

use crate::cli::Globals;
use crate::commands::catalog;
use crate::config::{self, LinkTargets, Settings, Trust};
use crate::env::{self, Env};
use crate::error::CliError;
use crate::regular_file;
use crate::ui::{Progress, Ui};
pub(crate) use executor::ExecRequest;
use repertoire::Agent;
use repertoire::prompt::MAX_TEMPLATE_BYTES;
use repertoire_model::text::nearest;

/// The most names that an unknown one is answered with in full.
const MAX_NAMES_SHOWN: usize = 50;

/// The most reasons that are told for a quarantined skill.
const MAX_REASONS_SHOWN: usize = 5;

/// What every command that reads skills needs.
pub(crate) struct Context {
    /// The environment.
    pub env: Env,
    /// The options that every command takes.
    pub globals: Globals,
    /// The settings in force.
    pub settings: Settings,
}

/// Where skills are looked for.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The name of the source.
    pub(crate) label: String,
    /// The directory.
    pub(crate) path: PathBuf,
    /// Why it is looked at.
    pub(crate) reason: Reason,
    /// What is there.
    pub(crate) presence: Presence,
}

/// Why a place is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It was given on the command line.
    Given,
    /// It is one that projects have.
    Project,
    /// It is one that users have.
    User,
    /// It is configured.
    Configured,
    /// It is a pack in a configured directory.
    Pack,
}

impl Reason {
    /// Returns the reason in words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given on the command line",
            Self::Project => "a place of the project",
            Self::User => "a place of the user",
            Self::Configured => "configured",
            Self::Pack => "a pack",
        }
    }
}

impl Place {
    /// Returns the place at `path`, whatever is there.
    pub(crate) fn at(label: String, path: PathBuf, reason: Reason) -> Self {
        let presence = match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Presence::Found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Presence::Missing,
            _ => Presence::NotDirectory,
        };
        Self { label, path, reason, presence }
    }
}

impl Context {
    /// Reads the configuration.
    pub(crate) fn load(ui: &Ui, env: Env, globals: Globals) -> Result<Self, CliError> {
        let settings = config::load(&env, &globals, ui.is_err_coloured())?;
        Ok(Self { env, globals, settings })
    }

    /// Returns every place that is looked at, those that win first, and what is wrong with packs.
    fn places(&self, policy: &Policy) -> (Vec<Place>, Vec<Problem>) {
        if !self.globals.root.is_empty() {
            let place = |root: &PathBuf| {
                let path = self.env.working_directory().join(root);
                Place::at(format!("root:{}", root.display()), path, Reason::Given)
            };
            return (distinct(self.globals.root.iter().map(place).collect()), Vec::new());
        }
        let mut places = self.discovered();
        places.extend(self.settings.roots.iter().map(|root| {
            Place::at(format!("config:{}", root.given.display()), root.path.clone(), Reason::Configured)
        }));
        let mut problems = Vec::new();
        for directory in &self.settings.packs {
            let (roots, broken) = discovery::packs(&directory.path, policy);
            places.extend(roots.into_iter().map(|root| Place::at(root.label, root.path, Reason::Pack)));
            problems.extend(broken);
        }
        (distinct(places), problems)
    }

    /// Returns an error if something was given as a root that is there and is no directory.
    ///
    /// It is for commands that go on until they are interrupted: a complaint in passing would be no answer.
    pub(crate) fn expect_directories(&self) -> Result<(), CliError> {
        let is_other = |root: &&PathBuf| {
            let path = self.env.working_directory().join(root);
            Place::at(String::new(), path, Reason::Given).presence == Presence::NotDirectory
        };
        match self.globals.root.iter().find(is_other) {
            Some(root) => {
                let message = format!("{} is not a directory that can be read", root.display());
                Err(CliError::usage(message).hint("`--root` takes a directory of skills"))
            }
            None => Ok(()),
        }
    }

    /// Returns the places that projects and users have by habit.
    fn discovered(&self) -> Vec<Place> {
        let mut input = DiscoveryInput::new(self.env.working_directory(), self.env.home());
        input.xdg_config = self.env.config_home();
        (input.project, input.user) = (self.settings.discover_project, self.settings.discover_user);
        let found = discovery::discover(&input);
        let place = |place: discovery::Place| Place {
            label: place.root.label,
            path: place.root.path,
            reason: if place.root.tier == Tier::Project { Reason::Project } else { Reason::User },
            presence: place.presence,
        };
        found.places.into_iter().map(place).collect()
    }

    /// Reads all skills, and refuses where the policy does.
    pub(crate) fn open(&self) -> Result<Library, CliError> {
        let library = self.inspect(self.settings.policy.clone());
        library.snapshot.accepted()?;
        Ok(library)
    }

    /// Reads all skills under `policy`, for commands that tell what is wrong.
    pub(crate) fn inspect(&self, policy: Policy) -> Library {
        let (places, problems) = self.places(&policy);
        self.inspect_places(places, problems, policy)
    }

    /// Reads the skills of `places` under `policy`.
    pub(crate) fn inspect_places(
        &self,
        places: Vec<Place>,
        mut problems: Vec<Problem>,
        policy: Policy,
    ) -> Library {
        let is_there = |place: &&Place| place.presence != Presence::Missing;
        let links = self.link_scope(&places, &policy);
        let providers = self.providers(places.iter().filter(is_there), &links, &policy);
        let _progress = Progress::start(&self.env, "reading skills");
        let search = self.search_options(&places, &policy);
        let handle = pollster::block_on(repertoire::Library::open_for_search(providers, policy, search));
        let (registry, snapshot) = (handle.registry().clone(), handle.snapshot());
        problems.extend(snapshot.problems().iter().cloned());
        Library { handle, registry, snapshot, places, problems }
    }

    /// Reads all skills of all places, those that are not there yet included, to be followed from then on.
    pub(crate) fn open_to_follow(&self) -> Registry {
        let policy = self.settings.policy.clone();
        let (places, _) = self.places(&policy);
        let links = self.link_scope(&places, &policy);
        let providers = self.providers(places.iter(), &links, &policy);
        let _progress = Progress::start(&self.env, "reading skills");
        let search = self.search_options(&places, &policy);
        let library = pollster::block_on(repertoire::Library::open_for_search(providers, policy, search));
        library.registry().clone()
    }

    /// Follows `registry` as configured, for as long as the watcher is kept.
    ///
    /// Where the system has no room for that, skills are looked for when they are asked for.
    pub(crate) fn follow(&self, registry: &Registry) -> Option<Watcher> {
        registry.watch(self.settings.reload()).ok()
    }

    /// Returns how somebody who asks for changes follows the library: as configured, but not at leisure.
    pub(crate) fn eager_reload(&self) -> ReloadOptions {
        let mut options = self.settings.reload();
        let mode = match options.mode {
            ReloadMode::Poll => ReloadMode::Poll,
            ReloadMode::Watch | ReloadMode::Lazy | ReloadMode::Off => ReloadMode::Watch,
        };
        options.mode = mode;
        options
    }

    /// Returns what reads the skills of `places`.
    fn providers<'p>(
        &self,
        places: impl Iterator<Item = &'p Place>,
        links: &LinkScope,
        policy: &Policy,
    ) -> Vec<Arc<dyn Provider>> {
        let cache = self.cache_directory();
        // A directory that an earlier place leads to is read there.
        let read = places.filter(|place| !matches!(place.presence, Presence::SameAs(_)));
        read.map(|place| -> Arc<dyn Provider> {
            Arc::new(FsProvider::new(FsOptions {
                limits: self.settings.scan,
                links: links.clone(),
                policy: policy.clone(),
                cache: cache.clone(),
                ..FsOptions::new(&place.label, &place.path)
            }))
        })
        .collect()
    }

    /// Returns how the skills of `places` are found: as configured, with an index that is kept beside the cache.
    ///
    /// Where the configuration says nothing that works, by their words; see [`Context::expect_search`].
    pub(crate) fn search_options(&self, places: &[Place], policy: &Policy) -> SearchOptions {
        let sources = places.iter().map(|place| (place.label.as_str(), place.path.as_path()));
        let file =
            self.cache_directory().map(|directory| SearchOptions::file_in(&directory, policy, sources));
        let embedder = embedder::embedder(self).ok().flatten();
        SearchOptions { embedder, file, ..SearchOptions::default() }
    }

    /// Returns an error if skills cannot be found as configured, for commands that do so.
    pub(crate) fn expect_search(&self) -> Result<(), CliError> {
        embedder::expect(self)
    }

    /// Returns what sessions are given; answers are written as `render` says where it says anything.
    pub(crate) fn session_options(&self, render: Option<&str>) -> SessionOptions {
        let settings = &self.settings;
        let mut options = settings.session.clone();
        options.render = render.and_then(Render::parse).unwrap_or(settings.session.render);
        options.catalog = catalog::configured(self);
        options.show_loaded = settings.catalog_show_loaded;
        options.include_frontmatter = settings.include_frontmatter;
        options.approve_command = Some("rep approve".to_owned());
        options
    }

    /// Opens a session with `options` for the agent called `agent`, or for one that may see everything.
    pub(crate) fn session(&self, options: SessionOptions, agent: Option<&str>) -> Result<Session, CliError> {
        self.session_with(options, agent, None)
    }

    /// Opens a session as [`Context::session`] does, in which `executor` runs what skills bring along.
    pub(crate) fn session_with(
        &self,
        options: SessionOptions,
        agent: Option<&str>,
        executor: Option<Arc<Executor>>,
    ) -> Result<Session, CliError> {
        let library = self.library(options, agent.as_slice(), executor)?;
        Ok(library.session_blocking(agent)?)
    }

    /// Opens a library whose sessions have `options` and run things with `executor`, and whose agents are those configured;
    /// `needed` ones must be sound.
    pub(crate) fn library(
        &self,
        options: SessionOptions,
        needed: &[&str],
        executor: Option<Arc<Executor>>,
    ) -> Result<repertoire::Library, CliError> {
        if let Some(name) = needed.iter().find(|name| !self.settings.agents.contains_key(**name)) {
            return Err(self.unknown_agent(name));
        }
        self.expect_search()?;
        let policy = self.settings.policy.clone();
        let (places, _) = self.places(&policy);
        // A directory that is not there yet may be by the time the session looks again.
        let links = self.link_scope(&places, &policy);
        let providers = self.providers(places.iter(), &links, &policy);
        let mut builder = repertoire::Library::builder()
            .providers(providers)
            .search_options(self.search_options(&places, &policy))
            .policy(policy)
            .session_options(options)
            .inherit(self.settings.subagent_inherit)
            .sinks(self.sinks());
        if let Some(executor) = executor {
            builder = builder.runner(executor);
        }
        for name in self.settings.agents.keys() {
            match self.agent(name) {
                Ok(agent) => builder = builder.agent(agent),
                Err(error) if needed.contains(&name.as_str()) => return Err(error),
                // Another agent's prompt is of no concern here; whoever asks for that agent is told.
                Err(_) => {}
            }
        }
        let _progress = Progress::start(&self.env, "reading skills");
        Ok(builder.open_blocking()?)
    }

    /// Returns the agent called `name`, its prompt read, or the error that tells which there are.
    pub(crate) fn agent(&self, name: &str) -> Result<Agent, CliError> {
        let agents = &self.settings.agents;
        let Some(configured) = agents.get(name) else { return Err(self.unknown_agent(name)) };
        let mut agent = configured.agent.clone();
        agent.inherit = configured.inherit.unwrap_or(self.settings.subagent_inherit);
        if let Some(file) = &configured.prompt {
            let about = || format!("cannot read the prompt of the agent `{name}`, {}", file.path.display());
            let bytes = regular_file::read(&file.path, MAX_TEMPLATE_BYTES)
                .map_err(|error| CliError::usage(about()).because(error))?;
            let text = String::from_utf8(bytes).map_err(|error| CliError::usage(about()).because(error))?;
            agent.prompt = Some(text);
        }
        Ok(agent)
    }

    /// Fails if no agent of the configuration is called `name`.
    pub(crate) fn expect_agent(&self, name: &str) -> Result<(), CliError> {
        match self.settings.agents.contains_key(name) {
            true => Ok(()),
            false => Err(self.unknown_agent(name)),
        }
    }

    fn unknown_agent(&self, name: &str) -> CliError {
        let error = CliError::usage(format!("there is no agent `{name}`"));
        let names: Vec<&str> = self.settings.agents.keys().map(String::as_str).collect();
        if names.is_empty() {
            return error.hint("no agents are configured; `[agents.NAME]` in repertoire.toml defines one");
        }
        let error = match nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        };
        error.hint(format!("there are: {}", names.join(", ")))
    }

    /// Returns the directories of role prompts, first ones first.
    pub(crate) fn role_directories(&self) -> Vec<PathBuf> {
        let working_directory = self.env.working_directory();
        let root = discovery::repository_root(working_directory, self.env.home().as_deref());
        let root = root.unwrap_or_else(|| working_directory.to_owned());
        // What is configured was looked at then; what is looked for by habit may not lead out of the project either.
        let trust = Trust::Within(root.clone());
        let is_sound = |path: &PathBuf| trust.objection_to_path("roles.directories", path).is_none();
        let directories = self.settings.role_directories.iter();
        directories
            .map(|directory| (directory.path.is_absolute(), root.join(&directory.path)))
            .filter(|(is_configured, path)| *is_configured || is_sound(path))
            .map(|(_, path)| path)
            .collect()
    }

    /// Returns where links below `places` may lead; the roots of the library count even where others are looked at.
    fn link_scope(&self, places: &[Place], policy: &Policy) -> LinkScope {
        match self.settings.scan_links {
            LinkTargets::Anywhere => LinkScope::Anywhere,
            LinkTargets::Roots => {
                let (library, _) = self.places(policy);
                LinkScope::Within(places.iter().chain(&library).map(|place| place.path.clone()).collect())
            }
        }
    }

    /// Returns `path` as a person in the working directory would write it.
    pub(crate) fn shown(&self, path: &str) -> String {
        match Path::new(path).strip_prefix(self.env.working_directory()) {
            Ok(relative) if !relative.as_os_str().is_empty() => relative.display().to_string(),
            _ => path.to_owned(),
        }
    }

    /// Returns where the cache lives, unless it is turned off.
    pub(crate) fn cache_directory(&self) -> Option<PathBuf> {
        if self.globals.no_cache || self.env.is_on(env::NO_CACHE) {
            return None;
        }
        self.env.cache_directory()
    }

    /// Returns where and how events are written, unless that is turned off or there is no place for them.
    pub(crate) fn events(&self) -> Option<JsonlOptions> {
        let directory = self.settings.events_jsonl.then(|| self.env.state_directory())??;
        Some(JsonlOptions {
            directory,
            max_bytes: self.settings.events_max_bytes as u64,
            keep: self.settings.events_keep,
        })
    }

    /// Returns what takes the events of a session.
    pub(crate) fn sinks(&self) -> Sinks {
        let jsonl = self.events().map(JsonlSink::new);
        jsonl.into_iter().fold(Sinks::new(), |sinks, sink| sinks.with(Arc::new(sink)))
    }
}

/// Two sources may not share a name: a later one that would gets a number.
fn distinct(mut places: Vec<Place>) -> Vec<Place> {
    discovery::distinct(places.iter_mut().map(|place| &mut place.label));
    places
}

/// All skills, read.
pub(crate) struct Library {
    /// The library, for search.
    pub(crate) handle: repertoire::Library,
    /// The registry that reads their files.
    pub registry: Registry,
    /// The skills.
    pub snapshot: Arc<Snapshot>,
    /// Where they were looked for.
    pub(crate) places: Vec<Place>,
    /// What is wrong with the sources themselves.
    pub(crate) problems: Vec<Problem>,
}

impl Library {
    /// Returns the skill called `name`, or the error that tells what there is instead.
    pub(crate) fn find(&self, name: &str) -> Result<&Entry, CliError> {
        match self.snapshot.find(name) {
            Lookup::Found(entry) => Ok(entry),
            Lookup::Quarantined(entry) => Err(quarantined(name, entry)),
            Lookup::Unknown(nearest) => Err(self.unknown(name, &nearest)),
        }
    }

    fn unknown(&self, name: &str, nearest: &[&repertoire_model::SkillName]) -> CliError {
        let error = CliError::no(format!("there is no skill `{name}`"));
        let all: Vec<&str> = self.snapshot.active().map(|entry| entry.name().as_str()).collect();
        let near: Vec<&str> = nearest.iter().map(|name| name.as_str()).collect();
        let mut error = match near.as_slice() {
            [] => error,
            [one] => error.hint(format!("did you mean `{one}`?")),
            _ => error.hint(format!("near it: {}", near.join(", "))),
        };
        if all.is_empty() {
            return error
                .hint("there are no skills at all; run `rep doctor` to see where they are looked for");
        }
        if all.len() <= MAX_NAMES_SHOWN {
            error = error.hint(format!("there are: {}", all.join(", ")));
        }
        error.hint("run `rep explain NAME` to see why a skill is missing")
    }
}

fn quarantined(name: &str, entry: &Entry) -> CliError {
    let mut error = CliError::no(format!("the skill `{name}` is quarantined ({})", entry.path));
    let reasons = || entry.diagnostics().filter(|found| found.severity == Severity::Error);
    for diagnostic in reasons().take(MAX_REASONS_SHOWN) {
        error = error.because(anyhow::anyhow!("{}", diagnostic.message));
    }
    let more = reasons().skip(MAX_REASONS_SHOWN).count();
    if more > 0 {
        error = error.because(anyhow::anyhow!("and {more} more"));
    }
    error.hint(format!("run `rep check {}` to see what is wrong", entry.path))
}

/// Returns the names and descriptions of all skills, for completion; nothing where anything is wrong.
pub(crate) fn names(env: &Env, globals: &Globals) -> Vec<(String, String)> {
    let Ok(settings) = config::load(env, globals, false) else { return Vec::new() };
    let context = Context { env: env.clone(), globals: globals.clone(), settings };
    let library = context.inspect(context.settings.policy.clone());
    let entries = library.snapshot.active();
    entries.map(|entry| (entry.name().to_string(), entry.document.description.to_string())).collect()
}

/// Returns the names of the agents of the configuration, for completion; nothing where anything is wrong.
pub(crate) fn agents(env: &Env, globals: &Globals) -> Vec<String> {
    let settings = config::load(env, globals, false);
    settings.map(|settings| settings.agents.into_keys().collect()).unwrap_or_default()
}

/// Returns the directory that a `SKILL.md` stands in, or the path itself.
pub(crate) fn skill_directory(path: &Path) -> &Path {
    let is_manifest = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    match path.parent() {
        Some(parent) if is_manifest && !path.is_dir() => parent,
        _ => path,
    }
}
