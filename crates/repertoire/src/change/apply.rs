//! Carries out a change.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use repertoire_model::SkillName;
use repertoire_model::patch::{SkillFiles, bundle};

use super::installed::InstalledSkill;
use super::journal::{FileStep, Journal, JournalLink, JournalSkill, named_bundles};
use super::parallel::in_parallel;
use super::place::ChangePlace;
use super::recover::undo;
use super::steps::{discard_removed, remove_links, set, write_files};
use super::writer_lock::WriterLock;
use crate::history::sync_skills;
use crate::store::{LazyStore, put_skills_safely};
use crate::{Error, clock};

/// The time for which content stays in the store that nothing names.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The steps of a change, which are all taken, or none.
#[derive(Debug, Default)]
pub struct ChangeSteps<'c> {
    /// The skills that change.
    pub skills: Vec<SkillStep<'c>>,
    /// Links that lead to removed skills and go with them.
    pub links: &'c [PathBuf],
    /// Files that are written last, in this order.
    pub files: Vec<FileStep>,
}

/// A skill that changes.
#[derive(Debug, Clone, Copy)]
pub struct SkillStep<'c> {
    /// Its name.
    pub name: &'c SkillName,
    /// Its files as they are; none if it is added.
    pub before: Option<&'c SkillFiles>,
    /// Its files as they will be; none if it is removed.
    pub after: Option<&'c SkillFiles>,
    /// Everything else in its directory, which goes with it if it is removed, as [`InstalledSkill::others`] has it.
    pub others: &'c [String],
}

/// The reason why a change was not carried out.
#[derive(Debug)]
pub struct FailedChange {
    /// The error of the step that failed.
    pub error: Error,
    /// The error because of which the steps before it could not be undone. The next recovery tries it again.
    pub undo: Option<Box<Error>>,
}

impl From<Error> for FailedChange {
    fn from(error: Error) -> Self {
        Self { error, undo: None }
    }
}

/// A change that was carried out. Until this value is dropped nobody else changes the place, and after a crash [`recover`]
/// returns the change as completed, so that what goes with it, such as links, can be completed too.
///
/// [`recover`]: super::recover
#[derive(Debug)]
#[must_use]
pub struct AppliedChange {
    place: ChangePlace,
    _lock: WriterLock,
}

impl Drop for AppliedChange {
    fn drop(&mut self) {
        discard_removed(&self.place);
        // A journal that stays is that of a completed change, which the next command finds to be so.
        let _ = Journal::remove(&self.place);
    }
}

/// Takes the steps of `change`, all of them or none; before the first one, `store` has the files of all its skills. The caller holds
/// `lock` since it read what is as before, and has completed or undone an interrupted change.
///
/// Fails with [`ErrorKind::FileChanged`](crate::ErrorKind::FileChanged) or [`ErrorKind::AlreadyThere`](crate::ErrorKind::AlreadyThere)
/// if a skill or a file is not as the change expects.
pub fn apply(
    lock: WriterLock,
    place: &ChangePlace,
    store: &LazyStore,
    change: &ChangeSteps<'_>,
) -> Result<AppliedChange, FailedChange> {
    for file in &change.files {
        file.expect_before()?;
    }
    let link = |path: &PathBuf| Some(JournalLink { path: path.clone(), to: fs::read_link(path).ok()? });
    let links = change.links.iter().filter_map(link).collect();
    let mut journal = Journal { skills: Vec::new(), files: change.files.clone(), links, is_undo: false };
    if !change.skills.is_empty() {
        store_skills(place, store, change)?;
    }
    let digest = |files: &SkillFiles| bundle(files).digest();
    journal.skills = in_parallel(&change.skills, |skill| JournalSkill {
        name: skill.name.clone(),
        before: skill.before.map(digest),
        after: skill.after.map(digest),
        others: skill.others.to_vec(),
    });
    journal.write(place)?;
    if let Err(error) = carry_out(place, change, &journal) {
        let undo = undo(place, store, &mut journal).err().map(Box::new);
        return Err(FailedChange { error, undo });
    }
    Ok(AppliedChange { place: place.clone(), _lock: lock })
}

/// Stores the files of the skills as they are, which are needed to undo the change, and as they will be, which are needed to complete it,
/// so that they survive a power failure. What earlier changes stored and nothing names any more is removed before.
fn store_skills(place: &ChangePlace, store: &LazyStore, change: &ChangeSteps<'_>) -> Result<(), Error> {
    let store = store.get()?;
    if let (Some(journals), Some(time)) = (place.journal.parent(), clock::now().checked_sub(KEPT)) {
        // What cannot be removed now can be later.
        let _ = store.collect_garbage(&named_bundles(journals), time);
    }
    let skills: Vec<&SkillFiles> =
        change.skills.iter().flat_map(|skill| [skill.before, skill.after]).flatten().collect();
    put_skills_safely(&*store, &skills)
}

fn carry_out(place: &ChangePlace, change: &ChangeSteps<'_>, journal: &Journal) -> Result<(), Error> {
    let outcomes = in_parallel(&change.skills, |skill| {
        let others = skill.others.to_vec();
        let before = skill.before.map(|files| InstalledSkill { files: files.clone(), others });
        set(place, skill.name, before.as_ref(), skill.after)
    });
    outcomes.into_iter().collect::<Result<(), Error>>()?;
    sync_skills(&place.skills)?;
    remove_links(&journal.links);
    write_files(&journal.files)
}
