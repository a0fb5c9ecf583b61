//! Opens the library for commands that read it once, and finds skills in it.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use repertoire::discovery::{Place, Presence, Tier};
use repertoire::provider::Problem;
use repertoire::provider::fs::limits::MAX_DEPTH;
use repertoire::provider::fs::{FsOptions, FsProvider, LinkScope, PastVersions};
use repertoire::{Entry, Lookup, Provider, Registry, ReloadMode, ReloadOptions, Snapshot, Watcher};
use repertoire_clients::OpenLibrary;
use repertoire_model::text::count;
use repertoire_model::toolbox::Toolbox;
use repertoire_model::{Diagnostic, Policy, RuleId, Severity, SkillName, State, validate};
use repertoire_search::SkillSearch;

use super::handle::Workspace;
use crate::error::Error;

/// The most names that an unknown one is answered with in full.
const MAX_NAMES_SHOWN: usize = 50;

/// The most directories that are searched for skills which are not where they are looked for.
const MAX_DIRECTORIES_LOOKED_AT: usize = 20_000;

/// The most reasons that are shown for a quarantined skill.
const MAX_REASONS_SHOWN: usize = 5;

impl Workspace {
    /// Reads all skills; fails if the policy refuses the library.
    pub fn open(&self) -> Result<Library, Error> {
        let policy = self.settings.policy.clone();
        let (places, problems) = self.places(&policy);
        let _progress = self.reporter.progress("reading skills");
        let providers = self.present_providers(&places, &policy, self.past_versions());
        let registry = pollster::block_on(Registry::open_for_inspection(providers, policy));
        let library = Library::new(registry, places, problems);
        pollster::block_on(library.registry.accepted())?;
        Ok(library)
    }

    /// Reads all skills as [`Workspace::open`] does, to search them.
    pub fn open_to_search(&self) -> Result<SearchableLibrary, Error> {
        let policy = self.settings.policy.clone();
        let (places, problems) = self.places(&policy);
        let searcher = self.searcher(&places, &policy);
        let providers = self.present_providers(&places, &policy, self.past_versions());
        let _progress = self.reporter.progress("reading skills");
        let builder = repertoire::Library::builder().providers(providers).policy(policy);
        let builder = self.with_reranker(builder.searcher(searcher.clone()));
        let handle = pollster::block_on(builder.open())?;
        let library = Library::new(handle.registry().clone(), places, problems);
        Ok(SearchableLibrary { library, handle, searcher })
    }

    /// Reads all skills under `policy`, for commands that report problems.
    pub fn inspect(&self, policy: Policy) -> Library {
        let (places, problems) = self.places(&policy);
        self.inspect_places(places, problems, policy)
    }

    /// Reads all skills under `policy` as agents are served them: recorded versions are in force for skills
    /// that are broken on disk.
    pub fn inspect_served(&self, policy: Policy) -> Library {
        let (places, problems) = self.places(&policy);
        self.inspect_with(places, problems, policy, self.past_versions())
    }

    /// Returns the skills of `registry`, which is open, as they are now.
    pub fn library_of(&self, registry: &Registry) -> Library {
        let (places, problems) = self.places(registry.policy());
        Library::new(registry.clone(), places, problems)
    }

    /// Returns the findings about skills of `library` that are broken on disk, and for which a recorded
    /// version is in force, by path.
    pub fn recorded_in_force(&self, library: &Library) -> BTreeMap<String, Diagnostic> {
        if !library.snapshot.entries().iter().any(|entry| entry.state == State::Quarantined) {
            return BTreeMap::new();
        }
        let policy = library.registry.policy().clone();
        let served = self.inspect_with(library.places.clone(), Vec::new(), policy, self.past_versions());
        let finding = |entry: &Entry| {
            let found = entry.diagnostics().find(|found| found.rule == RuleId::LastGood)?;
            Some((entry.path.to_string(), found.clone()))
        };
        served.snapshot.entries().iter().filter_map(finding).collect()
    }

    /// Reads the skills of `places` under `policy`.
    pub fn inspect_places(&self, places: Vec<Place>, problems: Vec<Problem>, policy: Policy) -> Library {
        self.inspect_with(places, problems, policy, None)
    }

    fn inspect_with(
        &self,
        places: Vec<Place>,
        problems: Vec<Problem>,
        policy: Policy,
        past: Option<PastVersions>,
    ) -> Library {
        let providers = self.present_providers(&places, &policy, past);
        let _progress = self.reporter.progress("reading skills");
        let registry = pollster::block_on(Registry::open_for_inspection(providers, policy));
        Library::new(registry, places, problems)
    }

    /// Reads the skills below `directory`, however deep they lie.
    pub fn inspect_deeply(&self, directory: &Path, policy: Policy) -> Registry {
        let mut options = FsOptions::new("path", directory);
        options.limits = self.settings.scan;
        options.limits.max_depth = MAX_DEPTH;
        options.limits.max_directories = options.limits.max_directories.min(MAX_DIRECTORIES_LOOKED_AT);
        options.limits.hidden = true;
        let provider = Arc::new(FsProvider::new(options));
        pollster::block_on(Registry::open_for_inspection(vec![provider], policy))
    }

    /// Returns a hint about skills below the directories given as roots, or else the working directory, for a
    /// library without skills.
    pub fn hint_without_skills(&self) -> String {
        let (here, given) = (self.env.working_directory(), &self.options.roots);
        let directories: Vec<PathBuf> = if given.is_empty() {
            vec![here.to_owned()]
        } else {
            given.iter().map(|root| here.join(root)).collect()
        };
        let skills_below = |directory: &PathBuf| {
            self.inspect_deeply(directory, self.settings.policy.clone()).snapshot().entries().len()
        };
        let skills = match directories.iter().map(skills_below).sum() {
            0 => {
                return "run `rep new my-skill` to make one, or `rep add samples` to try the sample library"
                    .to_owned();
            }
            1 => "there is 1 skill".to_owned(),
            number => format!("there are {number} skills"),
        };
        if given.is_empty() {
            format!(
                "{skills} below this directory, where no agent looks: run `rep --root . list` to see them, or set `roots` in \
                 repertoire.toml"
            )
        } else {
            format!(
                "{skills} further down: raise `scan.max_depth`, or give `--root` the directory around them"
            )
        }
    }

    /// Returns hints about skills that `library` leaves out, because they lie inside other skills, too deep
    /// or in hidden directories.
    ///
    /// Searches the directories a second time, so commands that only list skills do without.
    pub fn hints_about_unlisted(&self, library: &Library) -> Vec<String> {
        let listed: HashSet<&Path> =
            library.snapshot.entries().iter().map(|entry| Path::new(entry.directory())).collect();
        // Without any, `hint_without_skills` has looked below the directories that were given.
        let is_told = listed.is_empty() && !self.options.roots.is_empty();
        if is_told {
            return Vec::new();
        }
        let policy = self.settings.policy.clone();
        let links = self.link_scope(&library.places, &policy);
        let is_there = |place: &&Place| place.presence == Presence::Found;
        let options = self.settings.provider_options(library.places.iter().filter(is_there), &links);
        let providers = options.into_iter().map(|mut options| -> Arc<dyn Provider> {
            options.limits.max_depth = MAX_DEPTH;
            options.limits.max_directories = options.limits.max_directories.min(MAX_DIRECTORIES_LOOKED_AT);
            options.limits.nested = true;
            // Clones keep skills in groups such as `skills/.curated`.
            options.limits.hidden = true;
            Arc::new(FsProvider::new(options))
        });
        let all = pollster::block_on(Registry::open_for_inspection(providers.collect(), policy)).snapshot();
        let directory = |entry: &Entry| Path::new(entry.directory()).to_owned();
        let (inside, deep): (Vec<&Entry>, Vec<&Entry>) = all
            .entries()
            .iter()
            .filter(|entry| !listed.contains(&*directory(entry)))
            .partition(|entry| directory(entry).ancestors().any(|above| listed.contains(above)));
        let mut hints = Vec::new();
        if !inside.is_empty() {
            let skills = count(inside.len(), "more skill");
            hints.push(format!(
                "{skills} inside listed skills: set `scan.nested` to list skills inside skills"
            ));
        }
        if let Some(first) = deep.first() {
            let skills = count(deep.len(), "more skill");
            let path = self.shown(&first.path);
            let such_as = if deep.len() > 1 { "such as " } else { "" };
            hints.push(format!(
                "{skills} too deep or in hidden directories below a root ({such_as}{path}): add the directory around them to `roots`"
            ));
        }
        hints
    }

    /// Returns the providers of those of `places` that are there, or are missing because they are configured.
    pub fn present_providers(
        &self,
        places: &[Place],
        policy: &Policy,
        past: Option<PastVersions>,
    ) -> Vec<Arc<dyn Provider>> {
        let links = self.link_scope(places, policy);
        let is_read =
            |place: &&Place| place.presence != Presence::Missing || place.root.tier == Tier::Configured;
        self.providers(places.iter().filter(is_read), &links, past)
    }

    /// Reads all skills of all places, missing ones included, to follow changes.
    pub fn open_to_follow(&self) -> Registry {
        let policy = self.settings.policy.clone();
        let (places, _) = self.places(&policy);
        let links = self.link_scope(&places, &policy);
        let providers = self.providers(places.iter(), &links, None);
        let _progress = self.reporter.progress("reading skills");
        pollster::block_on(Registry::open_for_inspection(providers, policy))
    }

    /// Follows `registry` as configured, for as long as the watcher is kept.
    ///
    /// If the system cannot watch, the library is checked on use.
    pub fn follow(&self, registry: &Registry) -> Option<Watcher> {
        registry.watch(self.settings.reload).ok()
    }

    /// Returns the reload options of a command that waits for changes: as configured, but never lazy or off.
    pub fn eager_reload(&self) -> ReloadOptions {
        let mut options = self.settings.reload;
        options.mode = match options.mode {
            ReloadMode::Poll => ReloadMode::Poll,
            ReloadMode::Watch | ReloadMode::Lazy | ReloadMode::Off => ReloadMode::Watch,
        };
        options
    }

    /// Returns the providers of `places`.
    pub(super) fn providers<'p>(
        &self,
        places: impl Iterator<Item = &'p Place>,
        links: &LinkScope,
        past: Option<PastVersions>,
    ) -> Vec<Arc<dyn Provider>> {
        let options = self.settings.provider_options(places, links);
        options
            .into_iter()
            .map(|mut options| -> Arc<dyn Provider> {
                options.past.clone_from(&past);
                Arc::new(FsProvider::new(options))
            })
            .collect()
    }
}

/// All skills, read once.
pub struct Library {
    /// The registry that reads their files.
    pub registry: Registry,
    /// The skills.
    pub snapshot: Arc<Snapshot>,
    /// The places that were searched.
    pub places: Vec<Place>,
    /// Problems of the sources themselves.
    pub problems: Vec<Problem>,
}

/// A library that can be searched.
pub struct SearchableLibrary {
    /// All skills, read once.
    pub library: Library,
    /// The handle that searches them.
    pub handle: repertoire::Library,
    /// The searcher of the handle.
    pub searcher: SkillSearch,
}

impl Library {
    fn new(registry: Registry, places: Vec<Place>, mut problems: Vec<Problem>) -> Self {
        let snapshot = registry.snapshot();
        problems.extend(snapshot.problems().iter().cloned());
        Self { registry, snapshot, places, problems }
    }

    /// Returns the skills with the places that they were read from.
    pub fn opened(&self) -> OpenLibrary<'_> {
        OpenLibrary { registry: &self.registry, snapshot: &self.snapshot, places: &self.places }
    }

    /// Returns everything the rules find in each of `entries`, on all cores, in order.
    pub fn check(&self, entries: &[&Entry]) -> Vec<Vec<Diagnostic>> {
        let active: Vec<&Entry> = self.snapshot.active().collect();
        let toolbox = |entry: &&Entry| pollster::block_on(self.registry.toolbox(entry));
        let toolboxes: Vec<Toolbox> = active.par_iter().map(toolbox).collect();
        let shared = validate::shared_tools(active.iter().map(|entry| entry.name()).zip(&toolboxes));
        let check = |entry: &&Entry| {
            let mut found = pollster::block_on(self.registry.check(entry));
            if entry.state == State::Active {
                let shared = shared.iter().filter(|shared| shared.skills.contains(entry.name()));
                found.extend(
                    shared.filter_map(|shared| shared.diagnostic(entry.name(), self.registry.policy())),
                );
            }
            found
        };
        entries.par_iter().map(check).collect()
    }

    /// Returns the skills called `name` elsewhere than in `directory`.
    pub fn namesakes<'l>(
        &'l self,
        name: &'l SkillName,
        directory: &'l Path,
    ) -> impl Iterator<Item = &'l Entry> {
        let is_other = move |entry: &&Entry| entry.name() == name && Path::new(&*entry.path) != directory;
        self.snapshot.entries().iter().filter(is_other)
    }

    /// Returns the skill called `name`, or an error that names similar ones.
    pub fn find(&self, name: &str) -> Result<&Entry, Error> {
        match self.snapshot.find(name) {
            Lookup::Quarantined(entry) | Lookup::Disabled(entry) if entry.is_broken() => {
                Err(quarantined(name, entry))
            }
            _ => self.find_any(name),
        }
    }

    /// Returns the skill called `name`, valid or not.
    pub fn find_any(&self, name: &str) -> Result<&Entry, Error> {
        match self.snapshot.find(name) {
            Lookup::Found(entry) | Lookup::Disabled(entry) | Lookup::Quarantined(entry) => Ok(entry),
            Lookup::Unknown(nearest) => Err(self.unknown(name, &nearest)),
        }
    }

    fn unknown(&self, name: &str, nearest: &[&repertoire_model::SkillName]) -> Error {
        let error = Error::no(format!("there is no skill `{name}`"));
        let all: Vec<&str> = self.snapshot.active().map(|entry| entry.name().as_str()).collect();
        let near: Vec<&str> = nearest.iter().map(|name| name.as_str()).collect();
        let mut error = match near.as_slice() {
            [] => error,
            [one] => error.hint(format!("did you mean `{one}`?")),
            _ => error.hint(format!("near it: {}", near.join(", "))),
        };
        if all.is_empty() {
            return error.hint(
                "there are no skills at all; run `rep doctor --verbose` to see where they are looked for",
            );
        }
        if all.len() <= MAX_NAMES_SHOWN {
            error = error.hint(format!("there are: {}", all.join(", ")));
        }
        if name.trim().is_empty() {
            return error;
        }
        error.hint(format!("run `rep explain {name}` to see why it is missing"))
    }
}

fn quarantined(name: &str, entry: &Entry) -> Error {
    let mut error = Error::no(format!("the skill `{name}` is quarantined ({})", entry.path));
    let reasons = || entry.diagnostics().filter(|found| found.severity == Severity::Error);
    for diagnostic in reasons().take(MAX_REASONS_SHOWN) {
        error = error.because(diagnostic.message.as_str());
    }
    let more = reasons().skip(MAX_REASONS_SHOWN).count();
    if more > 0 {
        error = error.because(format!("and {more} more"));
    }
    error.hint(format!("run `rep check {}` to see what is wrong", entry.path))
}

/// Returns the directory of a `SKILL.md`, or the path itself.
pub fn skill_directory(path: &Path) -> &Path {
    let is_manifest = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    match path.parent() {
        Some(parent) if is_manifest && !path.is_dir() => parent,
        _ => path,
    }
}
