//! The context of a command: environment, global options and settings.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use repertoire::config::{ConfigInput, Settings};
use repertoire::discovery::repository_root;
use repertoire::event::JournalSink;
use repertoire::event::otel::OtelSink;
use repertoire::store::LazyStore;

use crate::config;
use crate::env::{self, Env};
use crate::error::CliError;
use crate::globals::Globals;
use crate::served::ServedArgs;
use crate::ui::Ui;

/// The context of every command that reads skills.
pub(crate) struct Context {
    /// The environment.
    pub env: Env,
    /// The options that every command takes.
    pub globals: Globals,
    /// The settings in force.
    pub settings: Settings,
    /// The store, once it is asked for.
    pub(super) store: OnceLock<LazyStore>,
    /// The sink that appends events to it, once it is asked for.
    pub(super) journal: OnceLock<Arc<JournalSink>>,
    /// The sink that sends calls of tools to a collector, once it is asked for.
    pub(super) traces: OnceLock<Option<Arc<OtelSink>>>,
    /// The channels of the store whose skills are served, those that win first.
    pub(super) served: Vec<String>,
}

impl Context {
    /// Reads the configuration.
    pub(crate) fn load(ui: &Ui, env: Env, globals: Globals) -> Result<Self, CliError> {
        let settings = config::load(&env, &globals, ui.is_err_coloured())?;
        if globals.root.is_empty()
            && let Some(root) =
                settings.roots.iter().find(|root| root.path.metadata().is_ok_and(|found| !found.is_dir()))
        {
            return Err(CliError::usage(format!("{} is not a directory", root.path.display()))
                .hint("`roots` of the configuration takes directories of skills"));
        }
        let mut context = Self::new(env, globals, settings);
        context.settings.session.catalog.priority = context.preferred_skills();
        Ok(context)
    }

    /// Returns the context of a command whose configuration was read.
    pub(crate) fn new(env: Env, globals: Globals, settings: Settings) -> Self {
        let (store, journal, traces) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { env, globals, settings, store, journal, traces, served: Vec::new() }
    }

    /// Returns the context of a command that may serve the skills of a store.
    pub(crate) fn serving(mut self, args: &ServedArgs) -> Result<Self, CliError> {
        if let Some(location) = &args.store {
            self.settings.store_url.clone_from(location);
        }
        self.served = args.channels();
        // Agents and people must not wait for a database that does not answer.
        self.store = OnceLock::from(self.store_opened_by(repertoire_store::open_to_serve));
        self.expect_served_store()?;
        Ok(self)
    }

    /// Returns the input that the configuration was loaded from.
    pub(super) fn config_input(&self) -> ConfigInput {
        config::input(&self.env, &self.globals)
    }

    /// Returns `path` as a person in the working directory would write it.
    pub(crate) fn shown(&self, path: &str) -> String {
        match Path::new(path).strip_prefix(self.env.working_directory()) {
            Ok(relative) if !relative.as_os_str().is_empty() => relative.display().to_string(),
            _ => path.to_owned(),
        }
    }

    /// Returns the file `path`, which is relative to the working directory, as a path in the project with `/` between its parts. One
    /// that is absolute or outside of the project stays as it is.
    pub(crate) fn project_path(&self, path: &str) -> String {
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
    pub(crate) fn library_title(&self) -> String {
        let named = self.globals.root.first().map(|root| self.env.working_directory().join(root));
        let directory = named.as_deref().unwrap_or(self.env.working_directory());
        let name = directory
            .canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        name.unwrap_or_else(|| "skills".to_owned())
    }

    /// Returns the directory of the cache, unless it is turned off.
    pub(crate) fn cache_directory(&self) -> Option<PathBuf> {
        if self.globals.no_cache || self.env.is_on(env::NO_CACHE) {
            return None;
        }
        self.env.cache_directory()
    }
}
