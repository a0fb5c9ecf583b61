//! Completes or undoes a change that a crash interrupted.

use repertoire_model::patch::{SkillFiles, bundle};
use repertoire_model::{Digest, SkillName};

use super::installed::{InstalledSkill, read_installed};
use super::journal::{ENDING, Journal, JournalSkill};
use super::place::ChangePlace;
use super::steps::{
    discard_removed, known_files, put_back, remove_links, removed_directory, restore_files, restore_links,
    set, write_files,
};
use super::writer_lock::WriterLock;
use crate::Error;
use crate::history::{lock_skill, remove_unfinished_writes, sync_skills};
use crate::store::{LazyStore, find_skill_files};

/// The end of an interrupted change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// It was completed, and these are its skills.
    Completed(Vec<SkillName>),
    /// It was undone.
    Undone,
    /// It can be neither completed nor undone, because files of skills are not stored any more. These skills are left as they are.
    Abandoned(Vec<SkillName>),
}

/// Completes or undoes an interrupted change at `place`; `None` if there is none, or another process is at it. `store` is only opened
/// for a change of skills that has to be completed or undone; if that fails, the change stays interrupted.
pub fn recover(place: &ChangePlace, store: &LazyStore) -> Result<Option<Recovery>, Error> {
    // Without a journal, which is the rule, nothing is locked.
    if !place.file(ENDING).is_file() {
        return Ok(None);
    }
    match WriterLock::try_acquire(place)? {
        Some(lock) => {
            let recovery = recover_locked(&lock, place, store)?;
            let skills = lock_skill(&place.skills.join("x"))?;
            remove_unfinished_writes(&place.skills, &skills);
            Ok(recovery)
        }
        None => Ok(None),
    }
}

/// Completes or undoes an interrupted change, as [`recover`], for a caller that holds the lock.
pub fn recover_locked(
    _lock: &WriterLock,
    place: &ChangePlace,
    store: &LazyStore,
) -> Result<Option<Recovery>, Error> {
    let Some(mut journal) = Journal::read(place)? else { return Ok(None) };
    if !journal.is_undo && complete(place, store, &journal)? {
        discard_removed(place);
        Journal::remove(place)?;
        let names = journal.skills.into_iter().map(|skill| skill.name).collect();
        return Ok(Some(Recovery::Completed(names)));
    }
    undo(place, store, &mut journal).map(Some)
}

/// Completes the change of `journal`; returns `false` if that is not possible.
fn complete(place: &ChangePlace, store: &LazyStore, journal: &Journal) -> Result<bool, Error> {
    let steps = steps(place, store, &journal.skills, Direction::Forward)?;
    if steps.iter().any(|step| step.is_impossible) {
        return Ok(false);
    }
    // Some may have been done when one fails; then all are undone.
    if steps.iter().try_for_each(|step| step.take(place)).is_err() {
        return Ok(false);
    }
    sync_skills(&place.skills)?;
    remove_links(&journal.links);
    write_files(&known_files(&journal.files)?)?;
    Ok(true)
}

/// Undoes the change of `journal`, all of it or nothing, and removes the journal. If it fails, the journal says that the change has to
/// be undone.
pub(super) fn undo(place: &ChangePlace, store: &LazyStore, journal: &mut Journal) -> Result<Recovery, Error> {
    let steps = steps(place, store, &journal.skills, Direction::Back)?;
    let impossible = steps.iter().filter(|step| step.is_impossible);
    let abandoned: Vec<SkillName> = impossible.map(|step| step.skill.name.clone()).collect();
    let recovery = if abandoned.is_empty() {
        if !journal.is_undo {
            journal.is_undo = true;
            // On a full disk this fails, and what is undone may be redone by the next command: all of it or nothing, too.
            let _ = journal.write(place);
        }
        steps.iter().rev().try_for_each(|step| step.take(place))?;
        sync_skills(&place.skills)?;
        restore_links(&journal.links)?;
        restore_files(&journal.files)?;
        discard_removed(place);
        Recovery::Undone
    } else {
        Recovery::Abandoned(abandoned)
    };
    Journal::remove(place)?;
    Ok(recovery)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Back,
}

/// The change of one skill, as it lies there.
struct Step<'j> {
    skill: &'j JournalSkill,
    found: Option<InstalledSkill>,
    /// The change that is to be made.
    kind: StepKind,
    /// `true` if the files for it are not stored any more.
    is_impossible: bool,
}

enum StepKind {
    /// Nothing: it is done, or others have changed the skill since.
    None,
    /// The skill gets these files.
    Set(SkillFiles),
    /// The skill is removed.
    Remove,
    /// The skill was removed, and is moved back.
    PutBack,
}

fn steps<'j>(
    place: &ChangePlace,
    store: &LazyStore,
    skills: &'j [JournalSkill],
    direction: Direction,
) -> Result<Vec<Step<'j>>, Error> {
    skills.iter().map(|skill| Step::new(place, store, skill, direction)).collect()
}

impl<'j> Step<'j> {
    fn new(
        place: &ChangePlace,
        store: &LazyStore,
        skill: &'j JournalSkill,
        direction: Direction,
    ) -> Result<Self, Error> {
        let found = read_installed(&place.directory(&skill.name))?;
        let mut step = Step { skill, found, kind: StepKind::None, is_impossible: false };
        let (from, to) = match direction {
            Direction::Forward => (skill.before, skill.after),
            Direction::Back => (skill.after, skill.before),
        };
        let is_moved_aside = skill.after.is_none() && step.found.is_none();
        if is_moved_aside
            && let Some(removed) = read_installed(&removed_directory(place, &skill.name))?
            && (direction == Direction::Back || !is_as_before(&removed, skill))
        {
            // An edit that came in between stays.
            step.kind = StepKind::PutBack;
            return Ok(step);
        }
        if digest_of(step.found.as_ref()) != from || from == to {
            return Ok(step);
        }
        match to {
            None if direction == Direction::Back => step.kind = StepKind::Remove,
            None if step.found.as_ref().is_some_and(|found| is_as_before(found, skill)) => {
                step.kind = StepKind::Remove;
            }
            // Others have made files in it since.
            None => {}
            Some(digest) => match find_skill_files(&*store.get()?, &digest)? {
                Some(files) => step.kind = StepKind::Set(files),
                None => step.is_impossible = true,
            },
        }
        Ok(step)
    }

    /// Makes the change.
    fn take(&self, place: &ChangePlace) -> Result<(), Error> {
        let (name, found) = (&self.skill.name, self.found.as_ref());
        match &self.kind {
            StepKind::None => Ok(()),
            StepKind::Set(files) => set(place, name, found, Some(files)),
            StepKind::Remove => set(place, name, found, None),
            StepKind::PutBack => put_back(place, name),
        }
    }
}

fn digest_of(skill: Option<&InstalledSkill>) -> Option<Digest> {
    skill.map(|skill| bundle(&skill.files).digest())
}

/// Returns `true` if `found` is the skill as it was before the change, with everything else in its directory.
fn is_as_before(found: &InstalledSkill, skill: &JournalSkill) -> bool {
    digest_of(Some(found)) == skill.before && found.others == skill.others
}

#[cfg(test)]
mod tests;
