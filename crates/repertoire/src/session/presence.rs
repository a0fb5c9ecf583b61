//! The skills that are in the model's context.

use std::collections::BTreeSet;

use repertoire_model::ledger::Presence;
use repertoire_model::{Digest, SkillName};

use super::open::Session;
use super::options::{Account, Unload};
use crate::registry::PinnedEntry;

impl Session {
    /// Records that the skill is no longer needed, and returns whether it was active.
    pub(crate) fn unload(&self, name: &SkillName) -> bool {
        let mut state = self.state();
        state.ledger.advance();
        let was_exposed = state.exposed.close(name.as_str());
        let was_active = state.ledger.unloaded(name) || was_exposed;
        if was_active && self.options().unload == Unload::Evict {
            state.ledger.evicted(name);
        }
        was_active
    }

    /// Returns `true` if the skill is certain to be in the context and meant to be followed.
    pub(crate) fn is_active(&self, name: &SkillName) -> bool {
        self.state().ledger.is_sure(name)
    }

    /// Returns the names of the skills that are active.
    pub(crate) fn active(&self) -> BTreeSet<SkillName> {
        self.state().ledger.active().cloned().collect()
    }

    /// Looks whether the skills in the context are still what they are on disk.
    pub async fn look(&self) {
        let snapshot = self.registry().snapshot();
        for name in self.active() {
            let Some(entry) = self.visible(&snapshot, name.as_str()) else {
                self.state().ledger.removed(&name);
                continue;
            };
            match self.open_skill(entry).await {
                Ok(opened) => {
                    let digest = Digest::of(self.instructions(&opened).as_bytes());
                    let mut state = self.state();
                    state.ledger.changed(&name, &digest);
                    let is_told = state.on_disk.get(&name) == Some(&(digest, true));
                    state.on_disk.insert(name, (digest, is_told));
                }
                Err(_) => self.state().ledger.removed(&name),
            }
        }
    }

    /// Returns the skills in the context with changes on disk that the model has not been notified of.
    pub(super) fn edited(&self) -> Vec<String> {
        let stale: Vec<SkillName> = self
            .state()
            .ledger
            .records()
            .filter(|(_, record)| record.presence == Presence::Stale)
            .map(|(name, _)| name.clone())
            .collect();
        // A skill that was removed cannot be loaded again.
        let snapshot = self.registry().snapshot();
        let stale = stale.into_iter().filter(|name| self.visible(&snapshot, name.as_str()).is_some());
        let stale: Vec<SkillName> = stale.collect();
        let mut state = self.state();
        let mut edited = Vec::new();
        for name in stale {
            if let Some((_, is_told @ false)) = state.on_disk.get_mut(&name) {
                *is_told = true;
                edited.push(name.to_string());
            }
        }
        edited
    }

    /// Returns `true` if the session tracks the skills in the context.
    pub(crate) fn keeps_account(&self) -> bool {
        self.options().account == Account::Kept
    }

    /// Returns `true` if the ledger tracks the skill: it holds its name for this session.
    pub(crate) fn is_accounted(&self, entry: &PinnedEntry) -> bool {
        self.keeps_account() && self.address(entry) == entry.name().as_str()
    }
}
