//! The composition root: configuration and flags in, providers and a registry out.

mod stand_in;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use repertoire::provider::fs::{FsOptions, FsProvider};
use repertoire::{Entry, Lookup, Provider, Registry, Snapshot};
use repertoire_model::Policy;

use stand_in::{Discovered, discover, packs};

use crate::cli::Globals;
use crate::config::{self, Config, Settings};
use crate::env::{self, Env};
use crate::error::CliError;
use crate::ui::Ui;

/// The most names that an unknown one is answered with in full.
const MAX_NAMES_SHOWN: usize = 50;

/// What every command that reads skills needs.
pub struct Context {
    /// The environment.
    pub env: Env,
    /// The options that every command takes.
    pub globals: Globals,
    /// The configuration in force.
    pub config: Config,
}

/// Where skills are looked for.
#[derive(Debug, Clone)]
pub struct Place {
    /// The name of the source.
    pub label: String,
    /// The directory.
    pub path: PathBuf,
    /// Why it is looked at.
    pub reason: &'static str,
}

impl Context {
    /// Reads the configuration.
    pub fn load(ui: &Ui, env: Env, globals: Globals) -> Result<Self, CliError> {
        let config = config::load(&env, &globals, ui.is_err_coloured())?;
        Ok(Self { env, globals, config })
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> &Settings {
        &self.config.settings
    }

    /// Returns every place that is looked at, those that win first, whether it exists or not.
    pub fn places(&self) -> Vec<Place> {
        if !self.globals.root.is_empty() {
            let place = |root: &PathBuf| Place {
                label: format!("root:{}", root.display()),
                path: self.env.working_directory().join(root),
                reason: "--root",
            };
            return distinct(self.globals.root.iter().map(place).collect());
        }
        let settings = self.settings();
        let discovered = discover(self.env.working_directory(), self.env.home(), settings);
        let mut places: Vec<Place> = discovered
            .into_iter()
            .map(|Discovered { label, path, reason }| Place { label, path, reason })
            .collect();
        places.extend(settings.roots.iter().map(|root| Place {
            label: format!("config:{}", root.given.display()),
            path: root.path.clone(),
            reason: "configuration",
        }));
        for directory in &settings.packs {
            places.extend(packs(&directory.path).into_iter().map(|path| Place {
                label: format!("pack:{}", path.file_name().unwrap_or_default().to_string_lossy()),
                path,
                reason: "pack",
            }));
        }
        distinct(places)
    }

    /// Reads all skills, and refuses where the policy does.
    pub fn open(&self) -> Result<Library, CliError> {
        let library = self.inspect(self.settings().policy.clone());
        library.snapshot.accepted()?;
        Ok(library)
    }

    /// Reads all skills under `policy`, for commands that tell what is wrong.
    pub fn inspect(&self, policy: Policy) -> Library {
        self.inspect_places(self.places(), policy)
    }

    /// Reads the skills of `places` under `policy`.
    pub fn inspect_places(&self, places: Vec<Place>, policy: Policy) -> Library {
        let provider = |place: &Place| -> Arc<dyn Provider> {
            Arc::new(FsProvider::new(FsOptions {
                limits: self.settings().scan,
                policy: policy.clone(),
                ..FsOptions::new(&place.label, &place.path)
            }))
        };
        let providers = places.iter().map(provider).collect();
        let registry = pollster::block_on(Registry::open_for_inspection(providers, policy));
        let snapshot = registry.snapshot();
        Library { registry, snapshot, places }
    }

    /// Returns `path` as a person in the working directory would write it.
    pub fn shown(&self, path: &str) -> String {
        match Path::new(path).strip_prefix(self.env.working_directory()) {
            Ok(relative) if !relative.as_os_str().is_empty() => relative.display().to_string(),
            _ => path.to_owned(),
        }
    }

    /// Returns where the cache lives, unless it is turned off.
    pub fn cache_directory(&self) -> Option<PathBuf> {
        if self.globals.no_cache || self.env.is_on(env::NO_CACHE) {
            return None;
        }
        self.env.cache_directory()
    }
}

/// Two sources may not share a name: a later one that would gets a number.
fn distinct(mut places: Vec<Place>) -> Vec<Place> {
    for index in 1..places.len() {
        let (before, rest) = places.split_at_mut(index);
        let label = rest[0].label.clone();
        let twins = before.iter().filter(|place| place.label == label).count();
        if twins > 0 {
            rest[0].label = format!("{label}#{}", twins + 1);
        }
    }
    places
}

/// All skills, read.
pub struct Library {
    /// What reads their files.
    pub registry: Registry,
    /// The skills.
    pub snapshot: Arc<Snapshot>,
    /// Where they were looked for.
    pub places: Vec<Place>,
}

impl Library {
    /// Returns the skill called `name`, or the error that tells what there is instead.
    pub fn find(&self, name: &str) -> Result<&Entry, CliError> {
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
    for diagnostic in
        entry.document.diagnostics.iter().filter(|d| d.severity == repertoire_model::Severity::Error)
    {
        error = error.because(anyhow::anyhow!("{}", diagnostic.message));
    }
    error.hint(format!("run `rep check {}` to see what is wrong", entry.path))
}

/// Returns the names and descriptions of all skills, for completion; nothing where anything is wrong.
pub fn names(env: &Env, globals: &Globals) -> Vec<(String, String)> {
    let Ok(config) = config::load(env, globals, false) else { return Vec::new() };
    let context = Context { env: env.clone(), globals: globals.clone(), config };
    let library = context.inspect(context.settings().policy.clone());
    let entries = library.snapshot.active();
    entries.map(|entry| (entry.name().to_string(), entry.document.description.clone())).collect()
}

/// Returns the directory that a `SKILL.md` stands in, or the path itself.
pub fn skill_directory(path: &Path) -> &Path {
    let is_manifest = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    match path.parent() {
        Some(parent) if is_manifest && !path.is_dir() => parent,
        _ => path,
    }
}
