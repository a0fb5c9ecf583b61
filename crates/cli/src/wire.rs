//! The composition root: configuration and flags in, providers and a registry out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use repertoire::discovery::{self, DiscoveryInput, Presence, Tier};
use repertoire::provider::Problem;
use repertoire::provider::fs::{FsOptions, FsProvider, LinkScope};
use repertoire::{Entry, Lookup, Provider, Registry, Snapshot};
use repertoire_model::{Policy, Severity};

use crate::cli::Globals;
use crate::config::{self, LinkTargets, Settings};
use crate::env::{self, Env};
use crate::error::CliError;
use crate::ui::Ui;

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

    /// Returns the places that projects and users have by habit.
    fn discovered(&self) -> Vec<Place> {
        let found = discovery::discover(&DiscoveryInput {
            working_directory: self.env.working_directory().to_owned(),
            home: self.env.home(),
            xdg_config: self.env.config_home(),
            project: self.settings.discover_project,
            user: self.settings.discover_user,
        });
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
        let cache = self.cache_directory();
        let links = self.link_scope(&places, &policy);
        let provider = |place: &Place| -> Arc<dyn Provider> {
            Arc::new(FsProvider::new(FsOptions {
                limits: self.settings.scan,
                links: links.clone(),
                policy: policy.clone(),
                cache: cache.clone(),
                ..FsOptions::new(&place.label, &place.path)
            }))
        };
        // A directory that an earlier place leads to is read there.
        let read =
            places.iter().filter(|place| !matches!(place.presence, Presence::SameAs(_) | Presence::Missing));
        let registry =
            pollster::block_on(Registry::open_for_inspection(read.map(provider).collect(), policy));
        let snapshot = registry.snapshot();
        problems.extend(snapshot.problems().iter().cloned());
        Library { registry, snapshot, places, problems }
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
}

/// Two sources may not share a name: a later one that would gets a number.
fn distinct(mut places: Vec<Place>) -> Vec<Place> {
    discovery::distinct(places.iter_mut().map(|place| &mut place.label));
    places
}

/// All skills, read.
pub(crate) struct Library {
    /// What reads their files.
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
    entries.map(|entry| (entry.name().to_string(), entry.document.description.clone())).collect()
}

/// Returns the directory that a `SKILL.md` stands in, or the path itself.
pub(crate) fn skill_directory(path: &Path) -> &Path {
    let is_manifest = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    match path.parent() {
        Some(parent) if is_manifest && !path.is_dir() => parent,
        _ => path,
    }
}
