//! Completes or undoes a change that a crash interrupted.

use repertoire::change::read_file;
use repertoire::history::{lock_skill, remove_unfinished_writes, sync_skills};
use repertoire_model::patch::{SkillFiles, bundle};
use repertoire_model::{Digest, SkillName};

use super::journal::{Journal, JournalFile, JournalSkill, has_journal};
use super::steps::{
    discard_removed, put_back, remove_links, removed_directory, restore_links, restore_locks, set,
    write_locks,
};
use super::writer_lock::WriterLock;
use crate::bundle_store::BundleStore;
use crate::installation::Installation;
use crate::installed::{InstalledSkill, read_installed};
use crate::{Error, lock};

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

/// Completes or undoes an interrupted change of `installation`; `None` if there is none, or another process is at it.
pub fn recover(installation: &Installation, store: &BundleStore) -> Result<Option<Recovery>, Error> {
    // Without a journal, which is the rule, nothing is locked.
    if !has_journal(installation) {
        return Ok(None);
    }
    match WriterLock::try_acquire(installation)? {
        Some(_lock) => {
            let recovery = recover_locked(installation, store)?;
            let skills = lock_skill(&installation.skills.join("x"))?;
            remove_unfinished_writes(&installation.skills, &skills);
            Ok(recovery)
        }
        None => Ok(None),
    }
}

/// As [`recover`], for a caller that holds the lock.
pub(super) fn recover_locked(
    installation: &Installation,
    store: &BundleStore,
) -> Result<Option<Recovery>, Error> {
    let Some(mut journal) = Journal::read(installation)? else { return Ok(None) };
    if !journal.is_undo && complete(installation, store, &journal)? {
        discard_removed(installation);
        Journal::remove(installation)?;
        let names = journal.skills.into_iter().map(|skill| skill.name).collect();
        return Ok(Some(Recovery::Completed(names)));
    }
    undo(installation, store, &mut journal).map(Some).map_err(|error| {
        error.hint("an interrupted change cannot be undone; see that its files can be written, and try again")
    })
}

/// Completes the change of `journal`; returns `false` if that is not possible.
fn complete(installation: &Installation, store: &BundleStore, journal: &Journal) -> Result<bool, Error> {
    let steps = steps(installation, store, &journal.skills, Direction::Forward)?;
    if steps.iter().any(|step| step.is_impossible) {
        return Ok(false);
    }
    // Some may have been done when one fails; then all are undone.
    if steps.iter().try_for_each(|step| step.take(installation)).is_err() {
        return Ok(false);
    }
    sync_skills(&installation.skills)?;
    remove_links(&journal.links);
    write_locks(installation, &known(installation, &journal.files)?)?;
    Ok(true)
}

/// Undoes the change of `journal`, all of it or nothing, and removes the journal. If it fails, the journal says that the change has to
/// be undone.
pub(super) fn undo(
    installation: &Installation,
    store: &BundleStore,
    journal: &mut Journal,
) -> Result<Recovery, Error> {
    let steps = steps(installation, store, &journal.skills, Direction::Back)?;
    let impossible = steps.iter().filter(|step| step.is_impossible);
    let abandoned: Vec<SkillName> = impossible.map(|step| step.skill.name.clone()).collect();
    let recovery = if abandoned.is_empty() {
        if !journal.is_undo {
            journal.is_undo = true;
            // On a full disk this fails, and what is undone may be redone by the next command: all of it or nothing, too.
            let _ = journal.write(installation);
        }
        steps.iter().rev().try_for_each(|step| step.take(installation))?;
        sync_skills(&installation.skills)?;
        restore_links(&journal.links)?;
        restore_locks(installation, &journal.files)?;
        discard_removed(installation);
        Recovery::Undone
    } else {
        Recovery::Abandoned(abandoned)
    };
    Journal::remove(installation)?;
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
    installation: &Installation,
    store: &BundleStore,
    skills: &'j [JournalSkill],
    direction: Direction,
) -> Result<Vec<Step<'j>>, Error> {
    skills.iter().map(|skill| Step::new(installation, store, skill, direction)).collect()
}

impl<'j> Step<'j> {
    fn new(
        installation: &Installation,
        store: &BundleStore,
        skill: &'j JournalSkill,
        direction: Direction,
    ) -> Result<Self, Error> {
        let found = read_installed(&installation.directory(&skill.name))?;
        let mut step = Step { skill, found, kind: StepKind::None, is_impossible: false };
        let (from, to) = match direction {
            Direction::Forward => (skill.before, skill.after),
            Direction::Back => (skill.after, skill.before),
        };
        let is_moved_aside = skill.after.is_none() && step.found.is_none();
        if is_moved_aside
            && let Some(removed) = read_installed(&removed_directory(installation, &skill.name))?
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
            Some(digest) => match store.get(&digest)? {
                Some(files) => step.kind = StepKind::Set(files),
                None => step.is_impossible = true,
            },
        }
        Ok(step)
    }

    /// Makes the change.
    fn take(&self, installation: &Installation) -> Result<(), Error> {
        let (name, found) = (&self.skill.name, self.found.as_ref());
        match &self.kind {
            StepKind::None => Ok(()),
            StepKind::Set(files) => set(installation, name, found, Some(files)),
            StepKind::Remove => set(installation, name, found, None),
            StepKind::PutBack => put_back(installation, name),
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

/// Returns those of `files` that are as they were before or after the change: others are not ours any more.
fn known(installation: &Installation, files: &[JournalFile]) -> Result<Vec<JournalFile>, Error> {
    let mut known = Vec::new();
    for file in files {
        let Some(path) = file.kind.path(installation) else { continue };
        let found = read_file(&path, lock::MAX_BYTES)?;
        let is = |text: &Option<String>| found.as_deref() == text.as_deref().map(str::as_bytes);
        if is(&file.before) || is(&file.after) {
            known.push(file.clone());
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests;
