//! An immutable, numbered view of all skills.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use repertoire_model::file_glob::FileMatcher;
use repertoire_model::resolve::{self, NameCandidate, Verdict};
use repertoire_model::scope::Scope;
use repertoire_model::{Diagnostic, Document, Policy, RuleId, Severity, SkillName, Standing, State, text};

use super::visible_cache::VisibleCache;
use crate::event::Event;
use crate::provider::{ListedSkill, Listing, Locator, Problem};
use crate::{Error, ErrorKind};

/// The most similar names that are suggested for an unknown one.
const MAX_NEAREST: usize = 10;

/// The most names that an unknown one is compared with letter by letter.
const MAX_COMPARED: usize = 1_000;

/// The most skills that the error of a refused library names.
const MAX_REFUSALS: usize = 5;

/// The part of an unknown name that is compared with others, in characters.
const MAX_QUERY_CHARS: usize = 128;

/// The largest difference in length of similar names, in bytes.
const MAX_LENGTH_DIFFERENCE: usize = 6;

const PROJECT_TIER: &str = "project";

/// Another way to the same skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// The source that leads there.
    pub source: Arc<str>,
    /// The path it leads there by.
    pub path: Arc<str>,
}

/// One skill of a snapshot: as its provider listed it, and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The source it comes from.
    pub source: Arc<str>,
    /// The provider's handle for it.
    pub locator: Locator,
    /// The location shown to people: for the file system, the path of its directory.
    pub path: Arc<str>,
    /// The name of its `SKILL.md`, which some spell differently.
    pub manifest_file: Cow<'static, str>,
    /// A text that is equal if two sources lead to the same skill; for files, its resolved directory.
    pub identity: Option<Arc<str>>,
    /// Its parsed `SKILL.md`.
    pub document: Arc<Document>,
    /// The state: active, shadowed, disabled or quarantined.
    pub state: State,
    /// The reason that it lost its name, if it did; boxed, because few do.
    pub collision: Option<Box<Diagnostic>>,
    /// Other sources that lead to the very same skill.
    pub also: Vec<Route>,
    pub(crate) provider: usize,
    /// True if the policy refuses the library because of this skill.
    is_refused: bool,
    /// True if it is a valid skill from outside of the project that the project's file alone disables.
    is_disabled_by_project: bool,
}

impl Entry {
    /// Returns the name it is addressed by.
    pub fn name(&self) -> &SkillName {
        &self.document.name
    }

    /// Returns the tier of its source, such as `project` or `user`: the label before the first colon.
    pub(super) fn tier(&self) -> &str {
        self.source.split(':').next().unwrap_or_default()
    }

    /// Returns `true` if it is one of the project's own skills.
    pub fn is_of_project(&self) -> bool {
        self.tier() == PROJECT_TIER
    }

    /// Returns the source as models are told it: of an absolute path the last part alone, because where
    /// skills lie on a machine is not for them to know.
    pub fn told_source(&self) -> String {
        told_source(&self.source)
    }

    /// Returns `true` if `scope` allows to see it.
    pub fn is_within(&self, scope: &Scope) -> bool {
        scope.allows(&self.source, self.name().as_str(), &self.document.manifest.tags)
    }

    /// Returns the unambiguous name of this skill: `source:name`.
    pub fn qualified_name(&self) -> String {
        format!("{}:{}", self.source, self.name())
    }

    /// Returns the text by which the versions and the usage of the skill are found: its real directory, or
    /// its source and name if it does not have one.
    ///
    /// It stays the same when the skill is edited, and is another one when its directory is moved.
    pub fn record_identity(&self) -> String {
        self.identity.as_deref().map_or_else(|| self.qualified_name(), str::to_owned)
    }

    /// Writes into `event` that it is about this skill.
    pub fn describe(&self, event: &mut Event) {
        event.skill = Some(self.name().to_string());
        event.source = Some(self.source.to_string());
        event.identity = Some(self.record_identity());
    }

    /// Returns the path of its `SKILL.md`, with links resolved and in the spelling of the file.
    pub fn location(&self) -> String {
        format!("{}/{}", self.directory().trim_end_matches('/'), self.manifest_file)
    }

    /// Returns its directory: with links resolved for the file system, otherwise the shown location.
    pub fn directory(&self) -> &str {
        self.identity.as_deref().unwrap_or(&self.path)
    }

    /// Returns the diagnostics of its `SKILL.md`, and last the reason that it lost its name.
    pub fn diagnostics(&self) -> impl DoubleEndedIterator<Item = &Diagnostic> {
        self.document.diagnostics.iter().chain(self.collision.as_deref())
    }

    /// Returns `true` if its `SKILL.md` is broken on disk, and the last good version of it is in force.
    pub fn is_last_good(&self) -> bool {
        self.document.diagnostics.iter().any(|found| found.rule == RuleId::LastGood)
    }

    /// Returns `true` if the skill cannot be used as it is: quarantined, or disabled and otherwise so.
    pub fn is_broken(&self) -> bool {
        self.state == State::Quarantined || self.document.standing != Standing::Sound
    }

    /// Returns `true` if agents are offered the skill: it is active, and not for people alone.
    pub fn is_offered(&self) -> bool {
        self.state == State::Active && self.allows_models()
    }

    /// Returns `true` if a glob in its `paths` matches one of `files`, or one of them is in its package.
    pub fn is_about(&self, files: &FileMatcher) -> bool {
        files.matches_any(&self.document.manifest.paths)
            || package_of(&self.source).is_some_and(|package| files.matches_any(&[format!("{package}/")]))
    }

    /// Returns `true` if the skill's author allows models to invoke it, and does not keep it for people.
    pub fn allows_models(&self) -> bool {
        !self.document.manifest.disable_model_invocation
    }
}

/// Returns the directory of the package, relative to its repository, whose skills the source `label` has;
/// `None` if it is not below the working directory.
pub fn package_of(label: &str) -> Option<&str> {
    let (package, _) = label.strip_prefix("project:")?.split_once("/.")?;
    (!package.starts_with('.')).then_some(package)
}

/// The result of looking a name up.
#[derive(Debug)]
pub enum Lookup<'a> {
    /// The skill with that name.
    Found(&'a Entry),
    /// No skill has that name, but this one would if it were valid.
    Quarantined(&'a Entry),
    /// No skill has that name for agents, because the policy disables this one.
    Disabled(&'a Entry),
    /// No skill has that name; these are the most similar names.
    Unknown(Vec<&'a SkillName>),
}

/// An immutable, numbered view of all skills: active, shadowed, disabled and quarantined ones, and the
/// problems of sources.
///
/// ```
/// use std::sync::Arc;
/// use repertoire::{Lookup, MemoryProvider, Policy, Registry, SkillDefinition};
/// let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
/// let provider = Arc::new(MemoryProvider::new("builtin", vec![skill]));
/// let registry = pollster::block_on(Registry::open(vec![provider], Policy::default()))?;
/// let snapshot = registry.snapshot();
/// assert!(matches!(snapshot.find("builtin:greet"), Lookup::Found(_)));
/// assert!(matches!(snapshot.find("gret"), Lookup::Unknown(near) if near[0].as_str() == "greet"));
/// # Ok::<(), repertoire::Error>(())
/// ```
#[derive(Debug)]
pub struct Snapshot {
    pub(super) number: u64,
    /// The time that the reload took.
    pub(super) took: Duration,
    /// Sorted by name, then by state, then by precedence.
    entries: Vec<Entry>,
    problems: Vec<Problem>,
    /// The labels of the sources that could not be listed.
    pub(super) unlisted: Vec<Arc<str>>,
    /// True if skills above the soft limit are reported.
    pub(super) tells_oversize: bool,
    pub(super) visible: VisibleCache,
    /// The positions of active skills by their paths, once somebody asked.
    paths: OnceLock<HashMap<Arc<str>, usize>>,
}

impl Snapshot {
    /// Merges listings, one per provider in order of precedence, into a snapshot that has no number yet.
    pub(crate) fn merge(listings: &[(Arc<str>, &Listing)], policy: &Policy) -> Self {
        let candidates: Vec<NameCandidate<'_>> = listings
            .iter()
            .flat_map(|(source, listing)| listing.skills.iter().map(|skill| candidate(source, skill)))
            .collect();
        let resolution = resolve::resolve(&candidates, policy);

        let mut positions = vec![usize::MAX; candidates.len()];
        let mut entries: Vec<Entry> = Vec::with_capacity(candidates.len());
        let listed = listings.iter().enumerate().flat_map(|(provider, (source, listing))| {
            listing.skills.iter().map(move |skill| (provider, source, skill))
        });
        for (index, ((provider, source, skill), verdict)) in listed.zip(resolution.verdicts).enumerate() {
            match verdict {
                Verdict::SameAs(first) => {
                    let route = Route { source: Arc::clone(source), path: Arc::clone(&skill.path) };
                    entries[positions[first]].also.push(route);
                }
                Verdict::Distinct { state, diagnostic } => {
                    positions[index] = entries.len();
                    let mut entry = entry(provider, source, skill, state, diagnostic);
                    entry.is_disabled_by_project = state == State::Disabled
                        && !entry.is_broken()
                        && !entry.is_of_project()
                        && policy.is_disabled_by_project_alone(source, entry.name().as_str());
                    entries.push(entry);
                }
            }
        }
        let problems = listings.iter().flat_map(|(_, listing)| listing.problems.iter().cloned()).collect();
        for index in resolution.refusals {
            entries[positions[index]].is_refused = true;
        }
        // The sort is stable, so skills of one name and state keep their precedence.
        entries.sort_by(|a, b| (a.name(), a.state).cmp(&(b.name(), b.state)));
        Self {
            number: 0,
            took: Duration::ZERO,
            entries,
            problems,
            unlisted: Vec::new(),
            tells_oversize: policy.severity(RuleId::BodyOversize) >= Some(Severity::Warning),
            visible: VisibleCache::default(),
            paths: OnceLock::new(),
        }
    }

    /// Returns `true` if the two have the same skills and problems.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.entries == other.entries && self.problems == other.problems && self.unlisted == other.unlisted
    }

    /// Returns the snapshot's number; a later one is higher.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns every skill, sorted by name, active ones before others of the same name.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the skills that hold their name, sorted by name.
    pub fn active(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.state == State::Active)
    }

    /// Returns the active skill at `path`, the location shown to people.
    pub(super) fn active_at(&self, path: &str) -> Option<&Entry> {
        let paths = self.paths.get_or_init(|| {
            let active = self.entries.iter().enumerate().filter(|(_, entry)| entry.state == State::Active);
            active.map(|(position, entry)| (Arc::clone(&entry.path), position)).collect()
        });
        self.entries.get(*paths.get(path)?)
    }

    /// Returns the skills that hold their name among the skills that `is_seen` accepts, sorted by name.
    ///
    /// Of several skills with one name that is the first one accepted: a skill that an agent may not see
    /// cannot shadow another for it.
    pub fn held(&self, is_seen: impl Fn(&Entry) -> bool) -> impl Iterator<Item = &Entry> {
        let groups = self.entries.chunk_by(|a, b| a.name() == b.name());
        groups.filter_map(move |group| holder(group, &is_seen))
    }

    /// Returns the skill that holds `name` among the skills that `is_seen` accepts.
    pub fn held_as(&self, name: &str, is_seen: impl Fn(&Entry) -> bool) -> Option<&Entry> {
        holder(self.named(name), is_seen)
    }

    /// Returns the valid skills with the name of `entry`, one of this snapshot's own that holds its name,
    /// that come from another tier: those of the user that a project's skill hides, and the like. Skills that
    /// only the project's file disables are among them.
    pub fn hidden_by(&self, entry: &Entry) -> impl Iterator<Item = &Entry> {
        let others = self.named(entry.name().as_str()).iter().filter(|other| other.tier() != entry.tier());
        others.filter(|other| other.state.is_reachable() || other.is_disabled_by_project)
    }

    /// Returns the problems of the sources themselves.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the labels of the sources that could not be listed, so that none of their skills is here.
    pub fn unlisted_sources(&self) -> impl Iterator<Item = &str> {
        self.unlisted.iter().map(AsRef::as_ref)
    }

    /// Returns the skills because of which the policy refuses the library, each with the decisive diagnostic.
    pub fn refusals(&self) -> impl Iterator<Item = (&Entry, &Diagnostic)> {
        self.entries.iter().filter(|entry| entry.is_refused).filter_map(|entry| {
            // A lost name is the reason, even if the skill has other problems.
            let heaviest = || entry.diagnostics().rev().max_by_key(|diagnostic| diagnostic.severity);
            Some((entry, entry.collision.as_deref().or_else(heaviest)?))
        })
    }

    /// Returns an error if the policy refuses the library; it names the first few skills that are the reason.
    ///
    /// Does not read the files beside a `SKILL.md`; see [`Registry::accepted`](super::Registry::accepted).
    pub fn accepted(&self) -> Result<(), Error> {
        Self::refused(self.refusals())
    }

    /// Returns the error of a library that is refused because of `refusals`, if there are any.
    pub(super) fn refused<'a>(
        mut refusals: impl Iterator<Item = (&'a Entry, &'a Diagnostic)>,
    ) -> Result<(), Error> {
        let Some((entry, diagnostic)) = refusals.next() else { return Ok(()) };
        let error = Error::new(ErrorKind::Refused)
            .about(entry.name().as_str())
            .at(&*entry.path)
            .with(vec![diagnostic.clone()]);
        let others = refusals
            .by_ref()
            .take(MAX_REFUSALS - 1)
            .map(|(entry, diagnostic)| format!("{} ({}): {}", entry.name(), entry.path, diagnostic.message));
        let mut others: Vec<String> = others.collect();
        let more = refusals.count();
        if more > 0 {
            others.push(format!("and {more} more"));
        }
        Err(if others.is_empty() { error } else { error.because(format!("also {}", others.join("; "))) })
    }

    /// Looks a skill up by its name, by `source:name`, or by a spelling that is normalised to the same name.
    ///
    /// An exact match wins over another spelling, even if it is quarantined.
    pub fn find(&self, query: &str) -> Lookup<'_> {
        match self.find_known(query) {
            Some(entry) => match entry.state {
                State::Active | State::Shadowed => Lookup::Found(entry),
                State::Disabled => Lookup::Disabled(entry),
                State::Quarantined => Lookup::Quarantined(entry),
            },
            None => Lookup::Unknown(self.nearest(query)),
        }
    }

    /// Returns the skill of [`Snapshot::find`], in any state, without the slow search for similar names.
    pub fn find_known(&self, query: &str) -> Option<&Entry> {
        let respelled = || respelled(query).and_then(|name| self.named(name.as_str()).first());
        let is_known = |entry: &&Entry| matches!(entry.state, State::Active | State::Disabled);
        self.find_exact(query).or_else(|| respelled().filter(is_known))
    }

    /// Returns the index of `entry` among the entries, or `None` if it is not one of this snapshot's own.
    pub fn index_of(&self, entry: &Entry) -> Option<usize> {
        let offset = std::ptr::from_ref(entry).addr().checked_sub(self.entries.as_ptr().addr())?;
        let index = offset / size_of::<Entry>();
        (index < self.entries.len()).then_some(index)
    }

    /// Returns the skill whose name or `source:name` is exactly `query`, preferring a valid one.
    pub(crate) fn find_exact(&self, query: &str) -> Option<&Entry> {
        let exact = self.named(query).first().into_iter().chain(self.qualified(query));
        // Of one name, the active skill is first.
        exact.min_by_key(|entry| !entry.state.is_reachable())
    }

    /// Returns the skills called `name`, valid ones first, then in order of precedence.
    pub fn named(&self, name: &str) -> &[Entry] {
        let start = self.entries.partition_point(|entry| entry.name().as_str() < name);
        let rest = &self.entries[start..];
        // Few skills share a name.
        &rest[..rest.iter().take_while(|entry| entry.name().as_str() == name).count()]
    }

    /// Returns the skill that `query` names as `source:name`; names hold no colon.
    pub fn qualified(&self, query: &str) -> Option<&Entry> {
        let (source, name) = query.rsplit_once(':')?;
        self.named(name).iter().find(|entry| &*entry.source == source)
    }

    /// Returns the names of active skills near `query`, best first; a directory of this name comes first.
    fn nearest(&self, query: &str) -> Vec<&SkillName> {
        let mut near = nearest_among(query, self.active().map(Entry::name));
        let is_its_directory =
            |entry: &&Entry| Path::new(&*entry.path).file_name().is_some_and(|it| it == query);
        if let Some(entry) = self.active().find(is_its_directory) {
            near.retain(|name| *name != entry.name());
            near.insert(0, entry.name());
        }
        near
    }
}

/// Returns the name that `query` is another spelling of, as `My Skill` is of `my-skill`.
///
/// A path is not a name: a skill that answered to `../my-skill` would teach models to write such names.
pub(crate) fn respelled(query: &str) -> Option<SkillName> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
    let is_spelling = query.starts_with(char::is_alphanumeric) && query.chars().all(is_plain);
    SkillName::slug(query).filter(|_| is_spelling)
}

/// Returns the source with the label `source` as models are told it: see [`Entry::told_source`].
pub(crate) fn told_source(source: &str) -> String {
    match source.split_once(':') {
        Some((tier, path)) if Path::new(path).is_absolute() => {
            let name = Path::new(path).file_name().unwrap_or_default();
            format!("{tier}:{}", name.to_string_lossy())
        }
        _ => source.to_owned(),
    }
}

/// Returns the skill of `group`, all of one name, that has the name among the skills that `is_seen` accepts.
pub(crate) fn holder(group: &[Entry], is_seen: impl Fn(&Entry) -> bool) -> Option<&Entry> {
    group.iter().find(|entry| entry.state.is_reachable() && is_seen(entry))
}

/// Returns those of `names` that are nearest to `query`, best first.
pub(crate) fn nearest_among<'s>(
    query: &str,
    names: impl Iterator<Item = &'s SkillName>,
) -> Vec<&'s SkillName> {
    let query: String = query.chars().take(MAX_QUERY_CHARS).collect::<String>().to_lowercase();
    let mut near: Vec<&SkillName> = names.filter(|name| may_be_near(&query, name.as_str())).collect();
    if near.len() > MAX_COMPARED {
        near.sort_by_key(|name| name.as_str().len().abs_diff(query.len()));
        near.truncate(MAX_COMPARED);
    }
    text::ranked(&query, near, MAX_NEAREST)
}

/// Returns whether it is worth comparing `query` with `name` letter by letter.
fn may_be_near(query: &str, name: &str) -> bool {
    if query.contains(name) || name.contains(query) {
        return true;
    }
    // A mistyped name rarely differs at both ends.
    let (query, name) = (query.as_bytes(), name.as_bytes());
    name.len().abs_diff(query.len()) <= MAX_LENGTH_DIFFERENCE
        && (query.first() == name.first() || query.last() == name.last())
}

/// Returns a skill of the source `source` as a candidate of resolution.
fn candidate<'a>(source: &'a str, skill: &'a ListedSkill) -> NameCandidate<'a> {
    NameCandidate {
        name: &skill.document.name,
        source,
        path: &skill.path,
        identity: skill.identity.as_deref(),
        standing: skill.document.standing,
    }
}

fn entry(
    provider: usize,
    source: &Arc<str>,
    skill: &Arc<ListedSkill>,
    state: State,
    collision: Option<Box<Diagnostic>>,
) -> Entry {
    Entry {
        source: Arc::clone(source),
        locator: skill.locator.clone(),
        path: Arc::clone(&skill.path),
        manifest_file: skill.manifest_file.clone(),
        identity: skill.identity.clone(),
        document: Arc::clone(&skill.document),
        state,
        collision,
        also: Vec::new(),
        provider,
        is_refused: false,
        is_disabled_by_project: false,
    }
}
