//! The workspace of a user: environment, options and settings.

use std::any::Any;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use repertoire::config::{ConfigInput, Settings};
use repertoire::discovery::repository_root;
use repertoire::event::JournalSink;
use repertoire::event::otel::OtelSink;
use repertoire::store::LazyStore;

use super::environment::{self as env, Env};
use super::options::WorkspaceOptions;
use super::reporter::Reporter;
use super::settings;
use crate::error::Error;

/// Skills, settings and state as a user has them in a directory.
pub struct Workspace {
    /// The environment.
    pub env: Env,
    /// The options.
    pub options: WorkspaceOptions,
    /// The settings in force.
    pub settings: Settings,
    pub(crate) reporter: Arc<dyn Reporter>,
    /// The store, once it is asked for.
    pub(super) store: OnceLock<LazyStore>,
    /// The sink that appends events to it, once it is asked for.
    pub(super) journal: OnceLock<Arc<JournalSink>>,
    /// The sink that sends calls of tools to a collector, once it is asked for.
    pub(super) traces: OnceLock<Option<Arc<OtelSink>>>,
    /// The channels of the store whose skills are served, in order of precedence.
    pub(super) served: Vec<String>,
}

impl Workspace {
    /// Reads the configuration.
    pub fn load(env: Env, options: WorkspaceOptions, reporter: Arc<dyn Reporter>) -> Result<Self, Error> {
        let settings = settings::load(&env, &options)?;
        if options.roots.is_empty()
            && let Some(root) =
                settings.roots.iter().find(|root| root.path.metadata().is_ok_and(|found| !found.is_dir()))
        {
            return Err(Error::usage(format!("{} is not a directory", root.path.display()))
                .hint("`roots` of the configuration takes directories of skills"));
        }
        let mut workspace = Self::new(env, options, settings, reporter);
        workspace.settings.session.catalog.priority = workspace.preferred_skills();
        Ok(workspace)
    }

    /// Returns the workspace of a configuration that was read.
    pub fn new(env: Env, options: WorkspaceOptions, settings: Settings, reporter: Arc<dyn Reporter>) -> Self {
        let (store, journal, traces) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { env, options, settings, reporter, store, journal, traces, served: Vec::new() }
    }

    /// Reads the configuration again. The new workspace serves no channels.
    pub fn reloaded(&self) -> Result<Self, Error> {
        let settings = settings::load(&self.env, &self.options)?;
        Ok(Self::new(self.env.clone(), self.options.clone(), settings, Arc::clone(&self.reporter)))
    }

    /// Returns this workspace with the skills of `roots` alone.
    pub fn confined_to(&self, roots: Vec<PathBuf>) -> Self {
        let options = WorkspaceOptions { roots, ..self.options.clone() };
        Self::new(self.env.clone(), options, self.settings.clone(), Arc::clone(&self.reporter))
    }

    /// Returns this workspace with the skills of `channels` of the store at `location`, or the usual one.
    pub fn serving(mut self, location: Option<&str>, channels: Vec<String>) -> Result<Self, Error> {
        if let Some(location) = location {
            location.clone_into(&mut self.settings.store_url);
        }
        self.served = channels;
        // Agents and people must not wait for a database that does not answer.
        self.store = OnceLock::from(self.store_opened_by(repertoire_store::open_to_serve));
        self.expect_served_store()?;
        Ok(self)
    }

    /// Shows that `what` goes on, until the value is dropped.
    pub fn progress(&self, what: &'static str) -> Box<dyn Any> {
        self.reporter.progress(what)
    }

    /// Returns the input that the configuration was loaded from.
    pub fn config_input(&self) -> ConfigInput {
        settings::input(&self.env, &self.options)
    }

    /// Returns `path` as a person in the working directory would write it.
    pub fn shown(&self, path: &str) -> String {
        match Path::new(path).strip_prefix(self.env.working_directory()) {
            Ok(relative) if !relative.as_os_str().is_empty() => relative.display().to_string(),
            _ => path.to_owned(),
        }
    }

    /// Returns the file `path`, which is relative to the working directory, as a path in the project with `/`
    /// between its parts. One that is absolute or outside of the project stays as it is.
    pub fn project_path(&self, path: &str) -> String {
        let here = self.env.working_directory();
        let root = repository_root(here, self.env.home().as_deref()).unwrap_or_else(|| here.to_owned());
        let mut full = PathBuf::new();
        for part in here.join(path).components() {
            match part {
                Component::ParentDir => _ = full.pop(),
                _ => full.push(part),
            }
        }
        match full.strip_prefix(&root) {
            Ok(inside) if Path::new(path).is_relative() => {
                let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
                parts.join("/")
            }
            _ => path.to_owned(),
        }
    }

    /// Returns the name of the library for people: that of the directory it is read from.
    pub fn library_title(&self) -> String {
        let named = self.options.roots.first().map(|root| self.env.working_directory().join(root));
        let directory = named.as_deref().unwrap_or(self.env.working_directory());
        let name = directory
            .canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        name.unwrap_or_else(|| "skills".to_owned())
    }

    /// Returns the directory of the cache, unless it is turned off.
    pub fn cache_directory(&self) -> Option<PathBuf> {
        if self.options.no_cache || self.env.is_on(env::NO_CACHE) {
            return None;
        }
        self.env.cache_directory()
    }
}
