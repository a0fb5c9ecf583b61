//! Resolves the names that models write to skills.

use std::collections::BTreeSet;
use std::sync::Arc;

use repertoire_model::answer::{Answer, Fault, FaultKind};
use repertoire_model::scope::Scope;
use repertoire_model::{Diagnostic, Severity, SkillName, State, text};

use super::open::Session;
use super::options::DenyStyle;
use crate::prompt::Agent;
use crate::registry::{Entry, PinnedEntry, Snapshot, VisibleSkills, holder, nearest_among, respelled};
use crate::searcher::{SearchHit, SearchRequest, Visibility};
use crate::task::{Task, TaskRanking};
use crate::tool::{CallFailure, EventDetails, quoted};
use crate::{Error, ErrorKind};

/// The most names that an unknown one is answered with in full.
const MAX_ALL: usize = 50;
/// The longest name that is accepted, in bytes: a source and a skill.
const MAX_NAME_BYTES: usize = 1024;

/// The skill that a model names, if the model may know of it.
enum NameResolution<'s> {
    /// A skill that it may use.
    Usable(&'s Entry),
    /// A skill that it may know of, but that is quarantined.
    Broken(&'s Entry),
    /// A skill that it may not know of.
    Denied,
    /// No skill.
    Nothing,
}

/// The skills that a session's agent may know of, by name.
#[derive(Clone, Copy)]
pub struct SkillLookup<'a> {
    session: &'a Session,
}

impl Session {
    /// Returns the skills that this session's agent may know of.
    pub fn lookup(&self) -> SkillLookup<'_> {
        SkillLookup { session: self }
    }
}

impl<'a> SkillLookup<'a> {
    /// Returns the skill that `asked` names.
    ///
    /// A skill that was added or mended since the last reload is found too, because a name that leads to no
    /// usable skill makes the library reload. A hidden skill takes as long as one that does not exist. Names
    /// that were never offered may be guesses, so they do not make a large library reload each time.
    pub(crate) async fn find(&self, asked: &str) -> Result<PinnedEntry, CallFailure> {
        let name = asked.trim();
        let snapshot = self.session.registry().snapshot();
        let newest = match self.resolve(&snapshot, name) {
            NameResolution::Usable(entry) => {
                let pinned = PinnedEntry::new(&snapshot, entry);
                return pinned.ok_or_else(|| self.unresolved(&snapshot, asked));
            }
            _ if !is_name(name) => return Err(self.unresolved(&snapshot, asked)),
            NameResolution::Broken(_) => self.session.registry().newest().await,
            _ => self.session.registry().reload_if_due().await,
        };
        let usable = match self.resolve(&newest, name) {
            NameResolution::Usable(entry) => PinnedEntry::new(&newest, entry),
            _ => None,
        };
        usable.ok_or_else(|| self.unresolved(&newest, asked))
    }

    /// Returns the reason that `asked` does not exist for the agent.
    fn unresolved(&self, snapshot: &Snapshot, asked: &str) -> CallFailure {
        let name = asked.trim();
        let mut details = EventDetails { skill: Some(quoted(asked)), ..EventDetails::default() };
        let kind = match self.resolve(snapshot, name) {
            NameResolution::Broken(entry) => {
                details = EventDetails::of(entry);
                broken(entry.diagnostics())
            }
            NameResolution::Denied => {
                details.is_denied = true;
                match self.session.options().scope.deny_style {
                    DenyStyle::NotPermitted => FaultKind::NotPermitted,
                    DenyStyle::NotFound => self.unknown(snapshot, name),
                }
            }
            NameResolution::Nothing if self.was_offered(name) => FaultKind::Gone,
            NameResolution::Nothing | NameResolution::Usable(_) => self.unknown(snapshot, name),
        };
        CallFailure::of(asked, kind, details)
    }

    /// Resolves `asked`; another spelling of a name will do.
    fn resolve<'s>(&self, snapshot: &'s Snapshot, asked: &str) -> NameResolution<'s> {
        if asked.len() > MAX_NAME_BYTES {
            return NameResolution::Nothing;
        }
        let exact = snapshot.named(asked);
        if !exact.is_empty() {
            return self.among(exact);
        }
        if let Some(entry) = snapshot.qualified(asked) {
            return self.among(std::slice::from_ref(entry));
        }
        match respelled(asked) {
            Some(name) => self.among(snapshot.named(name.as_str())),
            None => NameResolution::Nothing,
        }
    }

    /// Returns the one of `group`, all of one name, that is meant.
    fn among<'s>(&self, group: &'s [Entry]) -> NameResolution<'s> {
        let seen = |entry: &Entry| !self.session.options().scope.enforce || self.sees(entry);
        match holder(group, seen) {
            Some(entry) if entry.allows_models() || self.is_invoked(entry.name()) => {
                return NameResolution::Usable(entry);
            }
            // A skill that its author keeps for people does not exist for a model until a person invokes it.
            Some(_) => return NameResolution::Nothing,
            None => {}
        }
        match group.iter().find(|entry| entry.state == State::Quarantined && seen(entry)) {
            Some(broken) => NameResolution::Broken(broken),
            // A disabled skill does not exist for a model.
            None if group.iter().all(|entry| entry.state == State::Disabled) => NameResolution::Nothing,
            None => NameResolution::Denied,
        }
    }

    /// Returns the skill that a person means by `name`, if this session's agent may see it and its author
    /// lets people call it. It may be one that its author keeps for people.
    pub fn invocable(&self, name: &str) -> Option<SkillName> {
        let snapshot = self.session.registry().snapshot();
        let seen = |entry: &Entry| !self.session.options().scope.enforce || self.sees(entry);
        let entry = holder(snapshot.named(name), seen)?;
        (entry.document.manifest.user_invocable != Some(false)).then(|| entry.name().clone())
    }

    /// Notes that a person invoked the skill: tools now reach it, even if its author keeps it for people.
    ///
    /// It stays out of catalogs and lists.
    pub fn invoke(&self, name: &SkillName) {
        self.session.state().invoked.insert(name.clone());
    }

    /// Returns whether a person invoked the skill in this session.
    pub fn is_invoked(&self, name: &SkillName) -> bool {
        self.session.state().invoked.contains(name)
    }

    /// Returns whether the catalog before the model names the skill.
    fn was_offered(&self, asked: &str) -> bool {
        let pinned = Arc::clone(&self.session.state().pinned);
        matches!(self.resolve(&pinned, asked), NameResolution::Usable(_))
    }

    /// Returns the skill of `snapshot` that `asked` names, if a tool may use it.
    pub(crate) fn visible<'s>(&self, snapshot: &'s Snapshot, asked: &str) -> Option<&'s Entry> {
        match self.resolve(snapshot, asked) {
            NameResolution::Usable(entry) => Some(entry),
            _ => None,
        }
    }

    /// Returns the address of the skill for the model: its name, or `source:name` if another holds it.
    pub(crate) fn address(&self, entry: &PinnedEntry) -> String {
        match entry.snapshot().held_as(entry.name().as_str(), |entry| self.sees(entry)) {
            Some(holder) if std::ptr::eq(holder, &**entry) => entry.name().to_string(),
            _ => entry.qualified_name(),
        }
    }

    /// Returns the source of each of `entries`, skills of `snapshot`. If all have the same source, only those
    /// of skills that hide one of another tier from this session's agent are named.
    pub(crate) fn listed_sources(&self, snapshot: &Snapshot, entries: &[&Entry]) -> Vec<Option<String>> {
        let is_mixed = entries.windows(2).any(|pair| pair[0].source != pair[1].source);
        let hides = |entry: &Entry| snapshot.hidden_by(entry).any(|hidden| self.may_be_told_of(hidden));
        entries.iter().map(|entry| (is_mixed || hides(entry)).then(|| entry.told_source())).collect()
    }

    /// Returns the skills that this session's catalog offers of `snapshot`, sorted by name.
    pub(crate) fn offered<'s>(
        &self,
        snapshot: &'s Snapshot,
    ) -> impl Iterator<Item = &'s Entry> + use<'a, 's> {
        self.visible_skills(snapshot).held().filter(|entry| entry.allows_models())
    }

    /// Leaves the skills called `names` out of the catalog and of the names in schemas, because the client
    /// reads them from files by itself. Calls still find them. It can be said once.
    pub fn leave_to_client(&self, names: BTreeSet<SkillName>) {
        let _ = self.session.left_to_client.set(names);
    }

    /// Returns the names of the skills that are left to the client.
    pub fn left_to_client(&self) -> Option<&'a BTreeSet<SkillName>> {
        self.session.left_to_client.get()
    }

    /// Returns `true` if the catalog may list `entry`: the client does not read it from files by itself.
    pub fn is_listed(&self, entry: &Entry) -> bool {
        self.left_to_client().is_none_or(|names| !names.contains(entry.name()))
    }

    /// Returns the fault for an unknown name; it reveals nothing that the agent may not know of.
    fn unknown(&self, snapshot: &Snapshot, asked: &str) -> FaultKind {
        let offered: Vec<&SkillName> = self.offered(snapshot).map(Entry::name).collect();
        let near = nearest_among(&quoted(asked), offered.iter().copied());
        let all = if offered.len() <= MAX_ALL { offered.as_slice() } else { &[] };
        FaultKind::UnknownSkill {
            near: near.into_iter().map(ToString::to_string).collect(),
            total: offered.len(),
            all: all.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns the offered skill whose name is in that of the unknown tool `tool`, or is a few slips away.
    pub(super) fn nearest_skill(&self, snapshot: &Snapshot, tool: &str) -> Option<String> {
        let asked = quoted(tool).to_lowercase().replace('_', "-");
        let near = nearest_among(&asked, self.offered(snapshot).map(Entry::name));
        let is_meant = |name: &&SkillName| {
            let name = name.as_str();
            format!("-{asked}-").contains(&format!("-{name}-")) || text::nearest(&asked, [name]).is_some()
        };
        near.into_iter().find(is_meant).map(ToString::to_string)
    }

    /// Returns the fault for `error` about the file `path`, without paths of the machine.
    pub(crate) fn kind_of(&self, error: &Error, path: &str) -> FaultKind {
        let path = quoted(path);
        match error.kind() {
            ErrorKind::SkillNotFound => FaultKind::Gone,
            ErrorKind::FileNotFound => FaultKind::NoFile { path, near: Vec::new() },
            ErrorKind::IsDirectory => FaultKind::IsDirectory { path },
            ErrorKind::Forbidden => FaultKind::Forbidden { path },
            ErrorKind::TooLarge => FaultKind::TooLarge { path },
            _ => {
                let cause = std::error::Error::source(error).map(ToString::to_string);
                FaultKind::Failed { reason: cause.unwrap_or_else(|| "it cannot be read".to_owned()) }
            }
        }
    }

    /// Returns `true` if this session's agent may know of the skill.
    pub(crate) fn sees(&self, entry: &Entry) -> bool {
        self.agents().all(|agent| agent.sees(entry))
    }

    /// Returns `true` if this session's agent may be told that another skill hides this one.
    pub(super) fn may_be_told_of(&self, entry: &Entry) -> bool {
        self.agents().all(|agent| agent.may_be_told_of(entry))
    }

    /// Returns this session's agent and the agents that it sees no more than.
    pub(super) fn agents(&self) -> impl Iterator<Item = &'a Agent> + Clone + use<'a> {
        self.session.agent().into_iter().chain(&self.session.ceilings)
    }

    /// Returns the notices about the skills of `snapshot` that this session's agent is told: broken ones, and
    /// skills that hide another of a different tier.
    pub fn notices(&self, snapshot: &Snapshot) -> Vec<String> {
        let visible = self.visible_skills(snapshot);
        snapshot.notices_for_models(|entry| visible.contains(entry), |hidden| self.may_be_told_of(hidden))
    }

    /// Returns the skills of `snapshot` that this session's agent may know of.
    pub fn visible_skills<'s>(&self, snapshot: &'s Snapshot) -> VisibleSkills<'s> {
        if self.agents().any(|agent| !agent.bind.is_empty()) {
            return snapshot.visible(|entry| self.sees(entry));
        }
        let scopes = self.agents().map(|agent| &agent.scope).filter(|scope| **scope != Scope::default());
        snapshot.within(&scopes.cloned().collect::<Vec<Scope>>())
    }

    /// Returns the scopes that a skill has to be in for this session's agent to see it.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        self.agents()
            .filter(|_| self.session.options().scope.enforce)
            .map(|agent| agent.scope.clone())
            .collect()
    }

    /// Returns whether there may be skills that this session's agent does not see.
    pub(super) fn is_scoped(&self) -> bool {
        self.session.agent().is_some() || !self.session.ceilings.is_empty()
    }

    /// Returns the skills that [`Session::search`] finds in the order of the library's reranker.
    pub(crate) async fn search_reranked(
        &self,
        snapshot: &Arc<Snapshot>,
        request: &SearchRequest,
    ) -> Vec<SearchHit> {
        let visible = self.visible_skills(snapshot);
        let visibility = if self.is_scoped() { Visibility::Of(&visible) } else { Visibility::All };
        self.session.library().search_reranked(snapshot, request, visibility).await
    }

    /// Ranks the skills of `snapshot` for `task`.
    pub(super) async fn rank_for_task(&self, snapshot: &Arc<Snapshot>, task: &Task) -> TaskRanking {
        let visible = self.visible_skills(snapshot);
        self.session.library().rank_for_task(snapshot, task, Visibility::Of(&visible)).await
    }

    /// Returns the names and descriptions of the skills that are offered.
    pub(super) fn described<'s>(&self, snapshot: &'s Snapshot) -> Vec<(&'s str, &'s str)> {
        self.offered(snapshot).map(|entry| (entry.name().as_str(), &*entry.document.description)).collect()
    }
}

impl Session {
    /// Returns the skills of `snapshot` that `request` is about, best first, out of the skills that this
    /// session's catalog offers.
    pub(crate) async fn search(&self, snapshot: &Arc<Snapshot>, request: &SearchRequest) -> Vec<SearchHit> {
        let visible = self.lookup().visible_skills(snapshot);
        let visibility = if self.lookup().is_scoped() { Visibility::Of(&visible) } else { Visibility::All };
        self.library().search(snapshot, request, visibility).await
    }

    /// Returns the answer that a call of `tool`, a built-in tool by its default name, failed.
    pub(crate) fn fault(&self, tool: &str, asked: Option<&str>, kind: FaultKind) -> Answer {
        let tool = self.options().tools.names.configured(tool).to_owned();
        Answer::Fault(Fault::new(tool, asked.map(quoted), kind))
    }
}

/// Returns whether a skill could be called `asked`, alone or with its source.
fn is_name(asked: &str) -> bool {
    let name = asked.rsplit_once(':').map_or(asked, |(_, name)| name);
    SkillName::new(name).is_some()
}

/// Returns the fault of a skill with these diagnostics: the first error among them.
pub(super) fn broken<'d>(mut diagnostics: impl Iterator<Item = &'d Diagnostic>) -> FaultKind {
    let error = diagnostics.find(|found| found.severity == Severity::Error);
    FaultKind::Broken { reason: error.map(|found| found.message.clone()).unwrap_or_default() }
}
