//! The skills that a loaded one requires: named to the model, or loaded with it.

use std::collections::HashSet;
use std::sync::Arc;

use repertoire_model::SkillName;
use repertoire_model::answer::LoadedSkill;
use repertoire_model::ledger::Decision;

use super::load_skill::{loaded_skill, open};
use super::quoted;
use crate::provider::BoxFuture;
use crate::registry::{Entry, Snapshot};
use crate::session::{Remembered, Requires, Session};

/// The most required skills that are followed for one call.
const MAX_FOLLOWED: usize = 32;

/// What became of the skills that a loaded one requires.
#[derive(Default)]
pub(super) struct Required {
    /// Those that were loaded with it, each after what it requires itself.
    pub(super) loaded: Vec<LoadedSkill>,
    /// What the model is told about the others.
    pub(super) notes: Vec<String>,
}

/// Returns what becomes of the skills `ids` that `entry` requires.
pub(super) async fn of(session: &Session, entry: &Entry, ids: &[String]) -> Required {
    if ids.is_empty() {
        return Required::default();
    }
    let snapshot = session.registry().snapshot();
    let mut walk = Walk {
        session,
        snapshot: &snapshot,
        room: session.options().requires_max_tokens,
        seen: HashSet::from([entry.name().clone()]),
        path: vec![entry.name().clone()],
        required: Required::default(),
        pending: Vec::new(),
    };
    walk.follow(ids).await;
    let Walk { mut required, pending, .. } = walk;
    if !pending.is_empty() {
        let names = pending.join(", ");
        required
            .notes
            .insert(0, format!("This skill requires: {names}. Load it first if you haven't already."));
    }
    required
}

struct Walk<'a> {
    session: &'a Session,
    snapshot: &'a Snapshot,
    /// How many tokens may still be loaded.
    room: usize,
    seen: HashSet<SkillName>,
    /// The skills on the way from the one that was asked for to the one at hand.
    path: Vec<SkillName>,
    required: Required,
    /// Skills that are left to the model to load.
    pending: Vec<String>,
}

impl Walk<'_> {
    fn follow<'w>(&'w mut self, ids: &'w [String]) -> BoxFuture<'w, ()> {
        Box::pin(async move {
            for id in ids {
                self.one(id).await;
            }
        })
    }

    async fn one(&mut self, id: &str) {
        let Some(entry) = self.find(id) else {
            self.note(format!("This skill requires `{}`, which is not available.", quoted(id)));
            return;
        };
        let name = entry.name().clone();
        if self.path.contains(&name) {
            self.note_cycle(&name);
            return;
        }
        if self.session.is_active(&name) || !self.seen.insert(name.clone()) || self.seen.len() > MAX_FOLLOWED
        {
            return;
        }
        match self.session.options().requires {
            Requires::Hint => {
                self.pending.push(name.to_string());
                // Cycles are told of even where nothing is loaded.
                self.path.push(name);
                let deeper = entry.document.manifest.requires.clone();
                self.cycles(&deeper);
                self.path.pop();
            }
            Requires::AutoLoad => self.load(&entry, name).await,
        }
    }

    /// Loads `entry` after what it requires itself, if there is room.
    async fn load(&mut self, entry: &Entry, name: SkillName) {
        let Ok(opened) = open(self.session, entry).await else {
            self.pending.push(name.to_string());
            return;
        };
        self.path.push(name.clone());
        let deeper = opened.skill.document.manifest.requires.clone();
        self.follow(&deeper).await;
        self.path.pop();
        let skill = loaded_skill(self.session, entry, &opened);
        let Some(rest) = self.room.checked_sub(skill.tokens) else {
            self.pending.push(name.to_string());
            return;
        };
        let remembered = Arc::new(Remembered::of(entry, &skill, opened.mark.clone()));
        if let Decision::Give(_) = self.session.settle(entry, remembered, false) {
            self.room = rest;
            self.required.loaded.push(skill);
        }
    }

    /// Notes whether one of `ids` leads back to a skill on the path.
    fn cycles(&mut self, ids: &[String]) {
        for id in ids {
            if let Some(name) = SkillName::new(id).filter(|name| self.path.contains(name)) {
                self.note_cycle(&name);
            }
        }
    }

    /// Notes that the path leads back to `name`, which is on it.
    fn note_cycle(&mut self, name: &SkillName) {
        let around = self.path.iter().skip_while(|on_path| *on_path != name).chain([name]);
        let around: Vec<&str> = around.map(SkillName::as_str).collect();
        self.note(format!("Skills that require each other: {}.", around.join(", ")));
    }

    fn find(&self, id: &str) -> Option<Entry> {
        self.session.visible(self.snapshot, id).cloned()
    }

    fn note(&mut self, note: String) {
        if !self.required.notes.contains(&note) {
            self.required.notes.push(note);
        }
    }
}
