//! Completes or undoes a change that a crash interrupted.

use std::path::PathBuf;

use repertoire_model::Digest;
use repertoire_model::patch::{SkillFiles, bundle};

use super::done::{end, keep_removed, record};
use super::installed::{InstalledSkill, read_installed};
use super::journal::{ENDING, Journal, JournalSkill};
use super::path_step::PathStep;
use super::place::ChangePlace;
use super::steps::{discard_removed, put_back, removed_directory, set, sync_all};
use super::writer_lock::WriterLock;
use crate::Error;
use crate::history::{lock_skill, remove_unfinished_writes};
use crate::store::{LazyStore, find_skill_files};

/// The recovery of an interrupted change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// The command that made the change.
    pub command: String,
    /// The end of the change.
    pub end: RecoveryEnd,
}

/// The end of an interrupted change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoveryEnd {
    /// It was completed.
    Completed,
    /// It was undone.
    Undone,
    /// It can be neither completed nor undone, because files of skills are not stored any more. The skills in
    /// these directories are left as they are.
    Abandoned(Vec<PathBuf>),
}

/// Completes or undoes an interrupted change at `place`; `None` if there is not one, or another process is at
/// it. `store` is only opened for a change of skills that has to be completed or undone; if that fails, the
/// change stays interrupted.
pub fn recover(place: &ChangePlace, store: &LazyStore) -> Result<Option<Recovery>, Error> {
    // Without a journal, which is the rule, nothing is locked.
    if !place.file(ENDING).is_file() {
        return Ok(None);
    }
    match WriterLock::try_acquire(place)? {
        Some(_lock) => {
            let recovery = recover_locked(place, store)?;
            let skills = lock_skill(&place.skills.join("x"))?;
            remove_unfinished_writes(&place.skills, &skills);
            Ok(recovery)
        }
        None => Ok(None),
    }
}

/// Waits until no other process changes `place`, and completes or undoes an interrupted change. Until the
/// result is dropped, others wait.
pub fn begin(place: &ChangePlace, store: &LazyStore) -> Result<WriterLock, Error> {
    let lock = WriterLock::acquire(place)?;
    recover_locked(place, store)?;
    Ok(lock)
}

fn recover_locked(place: &ChangePlace, store: &LazyStore) -> Result<Option<Recovery>, Error> {
    let Some(mut journal) = Journal::read(place)? else { return Ok(None) };
    let is_complete = !journal.is_undo && complete(store, &journal)? && keep_removed(place, &journal).is_ok();
    let outcome = if is_complete {
        // What cannot be recorded was changed all the same.
        let _ = record(place, &journal);
        end(place, &journal)?;
        RecoveryEnd::Completed
    } else {
        undo(place, store, &mut journal)?
    };
    Ok(Some(Recovery { command: journal.command, end: outcome }))
}

/// Completes the change of `journal`; returns `false` if that is not possible.
fn complete(store: &LazyStore, journal: &Journal) -> Result<bool, Error> {
    let steps = steps(store, &journal.skills, Direction::Forward)?;
    if steps.iter().any(|step| step.is_impossible) {
        return Ok(false);
    }
    // Some may have been done when one fails; then all are undone.
    if steps.iter().try_for_each(SkillRecovery::take).is_err() {
        return Ok(false);
    }
    sync_all(&journal.skills)?;
    let outcome = journal.steps.iter().try_for_each(PathStep::take_if_ready);
    journal.steps.iter().for_each(PathStep::sync);
    Ok(outcome.is_ok())
}

/// Undoes the change of `journal`, all of it or nothing, and removes the journal. If it fails, the journal
/// says that the change has to be undone.
pub(super) fn undo(
    place: &ChangePlace,
    store: &LazyStore,
    journal: &mut Journal,
) -> Result<RecoveryEnd, Error> {
    let steps = steps(store, &journal.skills, Direction::Back)?;
    let impossible = steps.iter().filter(|step| step.is_impossible);
    let abandoned: Vec<PathBuf> = impossible.map(|step| step.skill.directory.clone()).collect();
    let end = if abandoned.is_empty() {
        if !journal.is_undo {
            journal.is_undo = true;
            // If this fails on a full disk, the next command may redo the change: all of it or nothing, too.
            let _ = journal.write(place);
        }
        steps.iter().rev().try_for_each(SkillRecovery::take)?;
        sync_all(&journal.skills)?;
        journal.steps.iter().rev().try_for_each(|step| step.reversed().take_if_ready())?;
        journal.steps.iter().for_each(PathStep::sync);
        discard_removed(&journal.skills);
        RecoveryEnd::Undone
    } else {
        let mut aside = steps.iter().filter(|step| matches!(step.kind, StepKind::PutBack));
        aside.try_for_each(SkillRecovery::take)?;
        RecoveryEnd::Abandoned(abandoned)
    };
    Journal::remove(place)?;
    Ok(end)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Back,
}

/// The change of one skill, as it lies there.
struct SkillRecovery<'j> {
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
    store: &LazyStore,
    skills: &'j [JournalSkill],
    direction: Direction,
) -> Result<Vec<SkillRecovery<'j>>, Error> {
    skills.iter().map(|skill| SkillRecovery::new(store, skill, direction)).collect()
}

impl<'j> SkillRecovery<'j> {
    fn new(store: &LazyStore, skill: &'j JournalSkill, direction: Direction) -> Result<Self, Error> {
        let found = read_installed(&skill.directory)?;
        let mut step = Self { skill, found, kind: StepKind::None, is_impossible: false };
        let (from, to) = match direction {
            Direction::Forward => (skill.before, skill.after),
            Direction::Back => (skill.after, skill.before),
        };
        let is_moved_aside = skill.after.is_none() && step.found.is_none();
        if is_moved_aside
            && let Some(removed) = read_installed(&removed_directory(&skill.directory))?
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
            // Files that others have made in its directory since stay, and the skill with them.
            None if direction == Direction::Back
                && step.found.as_ref().is_some_and(|found| found.others.is_empty()) =>
            {
                step.kind = StepKind::Remove;
            }
            None if direction == Direction::Forward
                && step.found.as_ref().is_some_and(|found| is_as_before(found, skill)) =>
            {
                step.kind = StepKind::Remove;
            }
            None => {}
            Some(digest) => match find_skill_files(&*store.get()?, &digest)? {
                Some(files) => step.kind = StepKind::Set(files),
                None => step.is_impossible = true,
            },
        }
        Ok(step)
    }

    fn take(&self) -> Result<(), Error> {
        let (directory, found) = (&self.skill.directory, self.found.as_ref());
        match &self.kind {
            StepKind::None => Ok(()),
            StepKind::Set(files) => set(directory, found, Some(files)),
            StepKind::Remove => set(directory, found, None),
            StepKind::PutBack => put_back(directory),
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
