//! What is in the context, as calls make and find it.

use std::collections::BTreeSet;
use std::sync::Arc;

use repertoire_model::SkillName;
use repertoire_model::ledger::{Decision, Presence};

use super::find::FoundSkill;
use super::open::Session;
use super::options::{Account, Unload};
use super::state::Remembered;
use crate::registry::Entry;

/// A skill that was opened to be given.
pub(crate) struct Opened {
    /// Its name.
    pub(crate) name: SkillName,
    /// What is known of it now.
    pub(crate) remembered: Arc<Remembered>,
}

impl Session {
    /// Returns since when the skill is in the context, where a look at it is enough to be sure that it is and that it has
    /// not changed.
    pub(crate) fn unchanged(&self, entry: &Entry, force: bool) -> Option<(Decision, Arc<Remembered>)> {
        let decide = |remembered: &Remembered| {
            let decision =
                self.state().ledger.decide(entry.name(), &remembered.digest, force, self.options().reload);
            matches!(decision, Decision::Acknowledge { .. }).then_some(decision)
        };
        let remembered = Arc::clone(self.state().remembered.get(entry.name())?);
        decide(&remembered)?;
        let is_same = remembered.source == entry.source && remembered.locator == entry.locator;
        // The look may take a while on a slow disk, so others are not kept waiting for it.
        if !is_same || !remembered.mark.as_ref()?.is_unchanged() {
            return None;
        }
        let decision = decide(&remembered)?;
        self.state().ledger.advance();
        Some((decision, remembered))
    }

    /// Decides how `skill`, which was opened just now, is to be answered, and records what is given: it, and before it those of
    /// `first` that are not in the context. Returns the decision and which of `first` are given.
    ///
    /// All of it happens at once and last, so that a call that is dropped half-way has given nothing.
    pub(crate) fn settle(&self, skill: &Opened, first: &[Opened], force: bool) -> (Decision, Vec<bool>) {
        let reload = self.options().reload;
        let mut state = self.state();
        state.ledger.advance();
        state.ledger.changed(&skill.name, &skill.remembered.digest);
        let decision = state.ledger.decide(&skill.name, &skill.remembered.digest, force, reload);
        let mut given = Vec::with_capacity(first.len());
        if let Decision::Give(_) = decision {
            for required in first {
                let digest = required.remembered.digest;
                let decided = state.ledger.decide(&required.name, &digest, false, reload);
                let is_given = matches!(decided, Decision::Give(_));
                if is_given {
                    state.ledger.loaded(&required.name, digest);
                    state.remembered.insert(required.name.clone(), Arc::clone(&required.remembered));
                }
                given.push(is_given);
            }
            state.ledger.loaded(&skill.name, skill.remembered.digest);
        }
        state.remembered.insert(skill.name.clone(), Arc::clone(&skill.remembered));
        (decision, given)
    }

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

    /// Returns whether the skill is sure to be in the context and meant to be followed.
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
            let remembered = self.state().remembered.get(&name).cloned();
            let is_same = remembered.as_ref().is_some_and(|known| known.source == entry.source);
            let mark = remembered.and_then(|known| known.mark.clone());
            if is_same && mark.is_some_and(|mark| mark.is_unchanged()) {
                continue;
            }
            match crate::tool::open(self, entry).await {
                Ok(opened) => {
                    let digest = crate::tool::digest(self, &opened);
                    let mut state = self.state();
                    state.ledger.changed(&name, &digest);
                    state.on_disk.insert(name, digest);
                }
                Err(_) => self.state().ledger.removed(&name),
            }
        }
    }

    /// Looks as [`Session::look`] does, and waits for it.
    pub fn look_blocking(&self) {
        pollster::block_on(self.look());
    }

    /// Returns the skills in the context whose instructions changed on disk since the model was last told so.
    pub(super) fn edited(&self) -> Vec<String> {
        let mut state = self.state();
        let stale: Vec<SkillName> = state
            .ledger
            .records()
            .filter(|(_, record)| record.presence == Presence::Stale)
            .map(|(name, _)| name.clone())
            .collect();
        let mut edited = Vec::new();
        for name in stale {
            let Some(digest) = state.on_disk.get(&name).copied() else { continue };
            if state.told.insert(name.clone(), digest) != Some(digest) {
                edited.push(name.to_string());
            }
        }
        edited
    }

    /// Returns whether account is kept of what is in the context.
    pub(crate) fn keeps_account(&self) -> bool {
        self.options().account == Account::Kept
    }

    /// Returns whether the skill is one that the ledger keeps account of: it holds its name for this session.
    pub(crate) fn is_accounted(&self, entry: &FoundSkill) -> bool {
        self.keeps_account() && self.address(entry) == entry.name().as_str()
    }
}
