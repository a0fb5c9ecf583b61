//! Finding the skill that a model means, and saying so when there is none.

use std::sync::Arc;

use repertoire_model::answer::{Answer, Fault, FaultKind};
use repertoire_model::ledger::{Decision, Presence};
use repertoire_model::{Severity, SkillName, State, text};

use super::open::Session;
use super::options::{DenyStyle, Unload};
use super::state::Remembered;
use crate::registry::{Entry, Lookup, Snapshot};
use crate::tool::{About, Answered, BUILTINS, quoted};
use crate::{Error, ErrorKind};

/// How many near names an unknown one is answered with.
const MAX_NEAR: usize = 10;
/// The most names that an unknown one is answered with in full.
const MAX_ALL: usize = 50;
/// The longest name that is looked for, in bytes: a source and a skill.
const MAX_NAME_BYTES: usize = 1024;

/// A skill of a snapshot, kept alive with it.
pub(crate) struct Found {
    snapshot: Arc<Snapshot>,
    index: usize,
}

impl Found {
    fn new(snapshot: &Arc<Snapshot>, entry: &Entry) -> Self {
        Self { snapshot: Arc::clone(snapshot), index: snapshot.index_of(entry) }
    }
}

impl std::ops::Deref for Found {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.snapshot.entries()[self.index]
    }
}

/// Why no skill was found.
pub(crate) struct Missed {
    kind: FaultKind,
    is_denied: bool,
}

impl Missed {
    /// Returns the answer to whoever called `tool` for the skill `asked`.
    pub(crate) fn answered(self, session: &Session, tool: &str, asked: &str) -> Answered {
        let about = About { skill: Some(quoted(asked)), is_denied: self.is_denied, ..About::default() };
        Answered { answer: session.fault(tool, Some(asked), self.kind), about }
    }
}

impl Session {
    /// Returns the skill that `asked` names.
    ///
    /// One that was added since the library was last looked at is found too: a name that is not known makes it look again.
    pub(crate) async fn find(&self, asked: &str) -> Result<Found, Missed> {
        let unknown = |snapshot: &Snapshot| Missed { kind: self.unknown(snapshot, asked), is_denied: false };
        let snapshot = self.registry().snapshot();
        if asked.len() > MAX_NAME_BYTES {
            return Err(unknown(&snapshot));
        }
        snapshot.prepare();
        match self.look_up(&snapshot, asked) {
            Some(found) => return found,
            None if !is_name(asked) => return Err(unknown(&snapshot)),
            None => {}
        }
        let newest = self.registry().reload().await;
        self.look_up(&newest, asked).unwrap_or_else(|| Err(unknown(&newest)))
    }

    /// Returns the skill that `asked` names or why it may not be used; `None` where there is nothing of that name.
    fn look_up(&self, snapshot: &Arc<Snapshot>, asked: &str) -> Option<Result<Found, Missed>> {
        let denied = || {
            let kind = match self.options().deny_style {
                DenyStyle::NotFound => self.unknown(snapshot, asked),
                DenyStyle::NotPermitted => FaultKind::NotPermitted,
            };
            Missed { kind, is_denied: true }
        };
        match meant(snapshot, asked) {
            Lookup::Found(entry) if self.may_use(entry) => Some(Ok(Found::new(snapshot, entry))),
            // What its author keeps for people is not there for a model.
            Lookup::Found(entry) if entry.document.manifest.disable_model_invocation => None,
            Lookup::Found(_) => Some(Err(denied())),
            Lookup::Quarantined(entry) if self.sees(entry) => {
                let mut errors = entry.diagnostics().filter(|found| found.severity == Severity::Error);
                let reason = errors.next().map(|found| found.message.clone()).unwrap_or_default();
                Some(Err(Missed { kind: FaultKind::Broken { reason }, is_denied: false }))
            }
            Lookup::Quarantined(_) => Some(Err(denied())),
            Lookup::Unknown(_) if self.was_offered(asked) => {
                Some(Err(Missed { kind: FaultKind::Gone, is_denied: false }))
            }
            Lookup::Unknown(_) => None,
        }
    }

    /// Returns whether the catalog before the model names the skill.
    fn was_offered(&self, asked: &str) -> bool {
        let pinned = Arc::clone(&self.state().pinned);
        matches!(meant(&pinned, asked), Lookup::Found(entry) if self.offers(entry))
    }

    /// Returns the skill of `snapshot` that `asked` names, if a tool may use it.
    pub(crate) fn visible<'s>(&self, snapshot: &'s Snapshot, asked: &str) -> Option<&'s Entry> {
        match meant(snapshot, asked) {
            Lookup::Found(entry) if self.may_use(entry) => Some(entry),
            _ => None,
        }
    }

    /// Returns what to say of a name that no skill has; nothing that the agent may not know of is in it.
    fn unknown(&self, snapshot: &Snapshot, asked: &str) -> FaultKind {
        let offered: Vec<&SkillName> =
            snapshot.active().filter(|entry| self.offers(entry)).map(Entry::name).collect();
        let near = text::ranked(&quoted(asked), offered.iter().copied(), MAX_NEAR);
        let all = if offered.len() <= MAX_ALL { offered.as_slice() } else { &[] };
        FaultKind::UnknownSkill {
            near: near.into_iter().map(ToString::to_string).collect(),
            total: offered.len(),
            all: all.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns the answer that a call of `tool`, one of the house's by its usual name, could not be answered.
    pub(crate) fn fault(&self, tool: &str, asked: Option<&str>, kind: FaultKind) -> Answer {
        let builtin = BUILTINS.iter().find(|builtin| builtin.canonical == tool);
        let tool = builtin.map_or(tool, |builtin| (builtin.name)(&self.options().names)).to_owned();
        Answer::Fault(Fault::new(tool, asked.map(quoted), kind))
    }

    /// Returns what to say of `error` about the file `path`; the machine's own paths are not the model's business.
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

    /// Returns since when the skill is in the context, where a look at it is enough to be sure that it is and that it has
    /// not changed.
    pub(crate) fn unchanged(&self, entry: &Entry, force: bool) -> Option<(u64, Arc<Remembered>)> {
        let mut state = self.state();
        let remembered = Arc::clone(state.remembered.get(entry.name())?);
        let decision = state.ledger.decide(entry.name(), &remembered.digest, force, self.options().reload);
        let Decision::Acknowledge { turn, .. } = decision else { return None };
        let is_same = remembered.source == entry.source && remembered.locator == entry.locator;
        if !is_same || !remembered.mark.as_ref()?.is_unchanged() {
            return None;
        }
        state.ledger.advance();
        Some((turn, remembered))
    }

    /// Decides how the skill is to be answered, which was opened just now, and records what is given.
    pub(crate) fn settle(&self, entry: &Entry, opened: Arc<Remembered>, force: bool) -> Decision {
        let mut state = self.state();
        let (name, digest) = (entry.name(), opened.digest);
        state.ledger.advance();
        state.ledger.changed(name, &digest);
        let decision = state.ledger.decide(name, &digest, force, self.options().reload);
        if let Decision::Give(_) = decision {
            state.ledger.loaded(name, digest);
        }
        state.remembered.insert(name.clone(), opened);
        decision
    }

    /// Records that the skill is no longer needed, and returns whether it was active.
    pub(crate) fn unload(&self, name: &SkillName) -> bool {
        let mut state = self.state();
        state.ledger.advance();
        let was_active = state.ledger.unloaded(name);
        if was_active && self.options().unload == Unload::Evict {
            state.ledger.evicted(name);
        }
        was_active
    }

    /// Returns whether the skill is in the context and meant to be followed.
    pub(crate) fn is_active(&self, name: &SkillName) -> bool {
        matches!(self.state().ledger.presence(name.as_str()), Presence::Active | Presence::Stale)
    }
}

/// Returns what a model means by `asked`.
///
/// Another spelling of a name will do, `My Skill` for `my-skill`, but nothing that looks like a path: a skill that
/// answered to `../my-skill` would teach models to write such things.
fn meant<'s>(snapshot: &'s Snapshot, asked: &str) -> Lookup<'s> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
    if asked.starts_with(char::is_alphanumeric) && asked.chars().all(is_plain) {
        return snapshot.find(asked);
    }
    match snapshot.find_exact(asked) {
        Some(entry) if entry.state == State::Quarantined => Lookup::Quarantined(entry),
        Some(entry) => Lookup::Found(entry),
        None => Lookup::Unknown(Vec::new()),
    }
}

/// Returns whether a skill could be called `asked`, alone or with its source.
fn is_name(asked: &str) -> bool {
    let name = asked.rsplit_once(':').map_or(asked, |(_, name)| name);
    SkillName::new(name).is_some()
}
