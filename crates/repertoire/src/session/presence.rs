//! The skills that are in the model's context.

use repertoire_model::ledger::{LedgerRecord, Presence};
use repertoire_model::{Digest, SkillName};

use super::open::Session;
use super::options::{Account, Unload};
use crate::registry::PinnedEntry;

/// A skill that is or was in the context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillState {
    /// The skill.
    pub name: SkillName,
    /// Its presence and history.
    pub record: LedgerRecord,
}

/// The skills in the model's context.
#[derive(Clone, Copy)]
pub struct ContextSkills<'a> {
    session: &'a Session,
}

impl Session {
    /// Returns the skills in the model's context.
    pub fn context(&self) -> ContextSkills<'_> {
        ContextSkills { session: self }
    }
}

impl ContextSkills<'_> {
    /// Records that the skill is no longer needed, and returns whether it was active.
    pub(crate) fn unload(&self, name: &SkillName) -> bool {
        let mut state = self.session.state();
        state.ledger.advance();
        let was_exposed = state.exposed.close(name.as_str());
        let was_active = state.ledger.unloaded(name) || was_exposed;
        if was_active && self.session.options().loading.unload == Unload::Evict {
            state.ledger.evicted(name);
        }
        was_active
    }

    /// Returns `true` if the skill is certain to be in the context and meant to be followed.
    pub(crate) fn is_active(&self, name: &SkillName) -> bool {
        self.session.state().ledger.is_sure(name)
    }

    /// Looks whether the skills in the context are still what they are on disk.
    pub async fn look(&self) {
        let snapshot = self.session.registry().snapshot();
        for name in self.loaded() {
            let Some(entry) = self.session.lookup().visible(&snapshot, name.as_str()) else {
                self.session.state().ledger.removed(&name);
                continue;
            };
            match self.session.loads().open_skill(entry).await {
                Ok(opened) => {
                    let digest = Digest::of(self.session.loads().instructions(&opened).as_bytes());
                    let mut state = self.session.state();
                    state.ledger.changed(&name, &digest);
                    let is_told = state.on_disk.get(&name) == Some(&(digest, true));
                    state.on_disk.insert(name, (digest, is_told));
                }
                Err(_) => self.session.state().ledger.removed(&name),
            }
        }
    }

    /// Returns the skills in the context with changes on disk that the model has not been notified of.
    pub(super) fn edited(&self) -> Vec<String> {
        let stale: Vec<SkillName> = self
            .session
            .state()
            .ledger
            .records()
            .filter(|(_, record)| record.presence == Presence::Stale)
            .map(|(name, _)| name.clone())
            .collect();
        // A skill that was removed cannot be loaded again.
        let snapshot = self.session.registry().snapshot();
        let stale = stale
            .into_iter()
            .filter(|name| self.session.lookup().visible(&snapshot, name.as_str()).is_some());
        let stale: Vec<SkillName> = stale.collect();
        let mut state = self.session.state();
        let mut edited = Vec::new();
        for name in stale {
            if let Some((_, is_told @ false)) = state.on_disk.get_mut(&name) {
                *is_told = true;
                edited.push(name.to_string());
            }
        }
        edited
    }

    pub(crate) fn keeps_account(&self) -> bool {
        self.session.options().loading.account == Account::Kept
    }

    /// Returns `true` if the ledger tracks the skill: it holds its name for this session.
    pub(crate) fn is_accounted(&self, entry: &PinnedEntry) -> bool {
        self.keeps_account() && self.session.lookup().address(entry) == entry.name().as_str()
    }

    /// Records that the host removed the instructions of a skill from the transcript.
    pub fn evicted(&self, name: &SkillName) {
        let mut state = self.session.state();
        state.ledger.evicted(name);
        state.exposed.close(name.as_str());
    }

    /// Returns the state of every skill that was ever in the context, sorted by name.
    pub fn skills(&self) -> Vec<SkillState> {
        let state = self.session.state();
        let records = state.ledger.records().filter(|(_, record)| record.presence != Presence::Absent);
        records.map(|(name, record)| SkillState { name: name.clone(), record: record.clone() }).collect()
    }

    /// Returns the names of the skills that are loaded, sorted.
    pub fn loaded(&self) -> Vec<SkillName> {
        self.session.state().ledger.active().cloned().collect()
    }
}
