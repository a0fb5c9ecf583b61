//! The skills that a loaded one requires: named to the model, or loaded with it.

use std::collections::HashSet;

use repertoire_model::answer::LoadedSkill;
use repertoire_model::{SkillName, Toolbox};

use super::open::Session;
use super::options::Requires;
use crate::future::BoxFuture;
use crate::prompt::hiding_note;
use crate::registry::{self, Entry, Snapshot};
use crate::tool::{EventDetails, quoted};

/// The most required skills that are followed for one call.
const MAX_FOLLOWED: usize = 32;
/// The most required skills that one sentence names.
const MAX_NAMED: usize = 20;
/// The most sentences about required skills in one answer.
const MAX_NOTES: usize = 8;

/// The skills that a loaded one requires, as they are answered.
pub(super) struct RequiredSkills {
    /// The skills that are loaded with it, each after the skills it requires itself.
    pub(super) loaded: Vec<RequiredSkill>,
    /// Notes for the model about the others.
    pub(super) notes: Vec<String>,
}

/// A skill that is loaded because another one requires it.
pub(super) struct RequiredSkill {
    pub(super) skill: LoadedSkill,
    /// The part of its event that tells which skill it is.
    pub(super) details: EventDetails,
    pub(super) toolbox: Toolbox,
    /// Notes for the model about its origin and its tools.
    pub(super) notes: Vec<String>,
}

/// The skills that a loaded one requires, opened but not given yet.
#[derive(Default)]
pub(super) struct GatheredSkills {
    /// In the order in which they are given.
    pub(super) loaded: Vec<RequiredSkill>,
    /// Skills that are left to the model to load.
    pending: Vec<String>,
    notes: Vec<String>,
}

impl GatheredSkills {
    /// Returns the required skills that are given: those of the opened ones for which `given` is true.
    pub(super) fn given(self, given: &[bool]) -> RequiredSkills {
        let loaded = self.loaded.into_iter().zip(given).filter(|(_, given)| **given).map(|(skill, _)| skill);
        RequiredSkills { loaded: loaded.collect(), notes: notes(&self.pending, self.notes) }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Returns the notes about the skills `ids` that `entry` requires and that are not active.
pub(super) fn missing(session: &Session, entry: &Entry, ids: &[String]) -> Vec<String> {
    if ids.is_empty() {
        return Vec::new();
    }
    let snapshot = session.registry().snapshot();
    notes(&named(session, &snapshot, entry, ids).pending, Vec::new())
}

/// Returns the sentence about the skills `pending` and then `others`, no more than are worth reading.
fn notes(pending: &[String], mut others: Vec<String>) -> Vec<String> {
    let more = others.len().saturating_sub(MAX_NOTES);
    others.truncate(MAX_NOTES);
    if more > 0 {
        others.push(format!("And {more} more of this kind."));
    }
    if !pending.is_empty() {
        let mut names = pending[..pending.len().min(MAX_NAMED)].join(", ");
        if pending.len() > MAX_NAMED {
            names = format!("{names} and {} more", pending.len() - MAX_NAMED);
        }
        others.insert(0, format!("This skill requires: {names}. Load it first if you haven't already."));
    }
    others
}

/// Opens the skills `ids` that `entry` requires, if the host wants them loaded, and notes the others.
pub(super) async fn gather(session: &Session, entry: &Entry, ids: &[String]) -> GatheredSkills {
    if ids.is_empty() {
        return GatheredSkills::default();
    }
    let snapshot = session.registry().snapshot();
    if session.options().loading.requires == Requires::Hint {
        return named(session, &snapshot, entry, ids);
    }
    let mut walk = Walk {
        session,
        snapshot: &snapshot,
        room: session.options().loading.requires_max_tokens,
        seen: HashSet::from([entry.name().clone()]),
        path: vec![entry.name().clone()],
        gathered: GatheredSkills::default(),
    };
    walk.follow(ids).await;
    walk.gathered
}

/// Returns the notes about the skills `ids` that `entry` requires, none of which is loaded with it.
fn named(session: &Session, snapshot: &Snapshot, entry: &Entry, ids: &[String]) -> GatheredSkills {
    let mut gathered = GatheredSkills::default();
    for id in ids {
        match session.lookup().visible(snapshot, id) {
            None => gathered.note(unavailable("This skill", id)),
            Some(required)
                if required.name() == entry.name() || session.context().is_active(required.name()) => {}
            Some(required) => {
                let name = required.name().to_string();
                if !gathered.pending.contains(&name) {
                    gathered.pending.push(name);
                }
            }
        }
    }
    if let Some(cycle) = registry::cycle(entry, snapshot) {
        gathered.note(circle(&cycle.iter().map(SkillName::as_str).collect::<Vec<_>>()));
    }
    gathered
}

fn unavailable(who: &str, id: &str) -> String {
    format!("{who} requires `{}`, which is not available.", quoted(id))
}

fn circle(names: &[&str]) -> String {
    format!("Skills that require each other: {}.", names.join(", "))
}

struct Walk<'a> {
    session: &'a Session,
    snapshot: &'a Snapshot,
    /// The tokens that may still be loaded.
    room: usize,
    seen: HashSet<SkillName>,
    /// The skills on the path from the requested one to the current one.
    path: Vec<SkillName>,
    gathered: GatheredSkills,
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
        let Some(entry) = self.session.lookup().visible(self.snapshot, id) else {
            let who = match self.path.as_slice() {
                [_] | [] => "This skill".to_owned(),
                [.., last] => format!("`{last}`"),
            };
            self.gathered.note(unavailable(&who, id));
            return;
        };
        let name = entry.name().clone();
        if self.path.contains(&name) {
            let around = self.path.iter().skip_while(|on_path| **on_path != name).chain([&name]);
            let note = circle(&around.map(SkillName::as_str).collect::<Vec<_>>());
            self.gathered.note(note);
            return;
        }
        if self.session.context().is_active(&name) || !self.seen.insert(name.clone()) {
            return;
        }
        self.load(entry, name).await;
    }

    /// Follows what `entry` requires itself.
    async fn deeper(&mut self, entry: &Entry, name: SkillName) {
        if self.seen.len() <= MAX_FOLLOWED {
            self.path.push(name);
            self.follow(&registry::required(&entry.document.manifest, self.snapshot)).await;
            self.path.pop();
        }
    }

    /// Opens `entry` after the skills it requires itself, if there is room.
    async fn load(&mut self, entry: &Entry, name: SkillName) {
        let is_followed = self.seen.len() <= MAX_FOLLOWED;
        let opened = if is_followed { self.session.loads().open_skill(entry).await.ok() } else { None };
        let Some(opened) = opened else {
            self.gathered.pending.push(name.to_string());
            return;
        };
        self.deeper(entry, name.clone()).await;
        let skill = self.session.loads().loaded_skill(entry, &opened);
        let cost = self.session.options().catalog.tokenizer.count(&skill.body);
        let Some(rest) = self.room.checked_sub(cost) else {
            self.gathered.pending.push(name.to_string());
            return;
        };
        self.room = rest;
        let (skill, toolbox, tool_notes) =
            self.session.skill_tools().with_tools(skill, entry, &opened.files.files).await;
        let hiding = hiding_note(self.snapshot, entry, self.session.lookup().agents());
        let notes = hiding.into_iter().chain(tool_notes).collect();
        self.gathered.loaded.push(RequiredSkill { skill, details: EventDetails::of(entry), toolbox, notes });
    }
}
