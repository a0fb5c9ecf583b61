//! Carries out a change.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use repertoire_model::patch::{SkillFiles, bundle};

use super::done::{end, keep_removed, milliseconds, record, recorded_bundles};
use super::installed::InstalledSkill;
use super::journal::{Journal, JournalSkill, named_bundles};
use super::parallel::in_parallel;
use super::path_step::PathStep;
use super::place::ChangePlace;
use super::recover::undo;
use super::steps::{set, sync_all};
use super::writer_lock::WriterLock;
use crate::store::{LazyStore, put_skills_safely};
use crate::{Error, ErrorKind, clock};

/// The time for which content stays in the store that nothing names.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The steps of a change, which are all taken, or none.
#[derive(Debug, Clone, Default)]
pub struct ChangeSteps<'c> {
    /// The command that makes the change, for messages.
    pub command: &'c str,
    /// The skills, clients or patterns that it is about, for the record.
    pub about: Vec<String>,
    /// The time of the recorded change that it takes back.
    pub undoes: Option<u64>,
    /// The skills that change.
    pub skills: Vec<SkillStep<'c>>,
    /// The other steps, taken in this order once the skills are in place. No two are about the same file.
    pub steps: Vec<PathStep>,
}

/// A skill that changes.
#[derive(Debug, Clone)]
pub struct SkillStep<'c> {
    /// Its directory.
    pub directory: PathBuf,
    /// Its files as they are; none if it is added.
    pub before: Option<Cow<'c, SkillFiles>>,
    /// Its files as they will be; none if it is removed.
    pub after: Option<Cow<'c, SkillFiles>>,
    /// The rest of its directory, which goes with it if it is removed, as in [`InstalledSkill::others`].
    pub others: Cow<'c, [String]>,
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

/// Takes the steps of `change`, all of them or none. The caller holds `lock` since it read what is as before.
/// The change is recorded; if that fails, returns the reason, for which it cannot be taken back.
///
/// Fails with [`ErrorKind::FileChanged`](crate::ErrorKind::FileChanged) or
/// [`ErrorKind::AlreadyThere`](crate::ErrorKind::AlreadyThere) if a skill, a file, a link or a directory is
/// not as the change expects.
pub fn apply(
    _lock: &WriterLock,
    place: &ChangePlace,
    store: &LazyStore,
    change: &ChangeSteps<'_>,
) -> Result<Option<Error>, FailedChange> {
    if change.skills.is_empty() && change.steps.is_empty() {
        return Ok(None);
    }
    change.steps.iter().try_for_each(PathStep::expect_file)?;
    if !change.skills.is_empty() {
        store_skills(place, store, change)?;
    }
    let digest = |files: &Cow<'_, SkillFiles>| bundle(files).digest();
    let skills = in_parallel(&change.skills, |skill| JournalSkill {
        directory: skill.directory.clone(),
        before: skill.before.as_ref().map(digest),
        after: skill.after.as_ref().map(digest),
        others: skill.others.to_vec(),
    });
    let mut journal = Journal {
        command: change.command.to_owned(),
        about: change.about.clone(),
        time: milliseconds(clock::now()),
        undoes: change.undoes,
        skills,
        steps: change.steps.clone(),
        made: missing_directories(place, change),
        is_undo: false,
    };
    journal.write(place)?;
    let outcome = carry_out(change, &mut journal);
    if let Err(error) = outcome.and_then(|()| keep_removed(place, &journal)) {
        let undo = undo(place, store, &mut journal).err().map(Box::new);
        return Err(FailedChange { error, undo });
    }
    let recorded = record(place, &journal);
    // A journal that stays is that of a completed change, which the next command finds to be so.
    let _ = end(place, &journal);
    Ok(recorded.err())
}

/// Returns the directories around what `change` is about that are not there yet.
fn missing_directories(place: &ChangePlace, change: &ChangeSteps<'_>) -> Vec<PathBuf> {
    let skills = change.skills.iter().map(|skill| &*skill.directory);
    let paths = skills.chain(change.steps.iter().map(PathStep::path));
    let missing = paths.flat_map(|path| {
        let above = path.ancestors().skip(1).take_while(|above| above.starts_with(&place.base));
        above.take_while(|above| above.symlink_metadata().is_err()).map(PathBuf::from)
    });
    missing.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Stores the files of the skills as they are, to undo the change, and as they will be, to complete it, even
/// after a power failure. First removes what earlier changes stored and nothing names any more.
fn store_skills(place: &ChangePlace, store: &LazyStore, change: &ChangeSteps<'_>) -> Result<(), Error> {
    let store = store.get()?;
    let named = place.journal.parent().and_then(|directory| {
        let (mut named, recorded) = (named_bundles(directory)?, recorded_bundles(directory)?);
        named.extend(recorded);
        Some(named)
    });
    if let (Some(named), Some(time)) = (named, clock::now().checked_sub(KEPT)) {
        // The next change tries it again.
        let _ = store.collect_garbage(&named, time);
    }
    let skills = change.skills.iter().flat_map(|skill| [&skill.before, &skill.after]);
    let skills: Vec<&SkillFiles> = skills.flatten().map(|files| &**files).collect();
    put_skills_safely(&*store, &skills)
}

/// Carries out `change`. If a step fails, `journal` keeps the steps that were taken.
fn carry_out(change: &ChangeSteps<'_>, journal: &mut Journal) -> Result<(), Error> {
    let outcomes = in_parallel(&change.skills, |skill| {
        let others = skill.others.to_vec();
        let before = skill.before.as_deref().map(|files| InstalledSkill { files: files.clone(), others });
        set(&skill.directory, before.as_ref(), skill.after.as_deref())
    });
    // A directory that stood in the way of an added skill is not undone: somebody else made it.
    let mut is_in_the_way = outcomes
        .iter()
        .zip(&change.skills)
        .map(|(outcome, skill)| {
            let kind = outcome.as_ref().err().map(Error::kind);
            skill.before.is_none() && kind == Some(ErrorKind::AlreadyThere)
        })
        .collect::<Vec<_>>()
        .into_iter();
    journal.skills.retain(|_| !is_in_the_way.next().unwrap_or_default());
    let skills = outcomes.into_iter().collect::<Result<(), Error>>().and_then(|()| sync_all(&journal.skills));
    let mut taken = 0;
    let outcome = skills.and_then(|()| {
        change.steps.iter().try_for_each(|step| {
            step.take()?;
            taken += 1;
            Ok(())
        })
    });
    journal.steps.truncate(taken);
    change.steps.iter().for_each(PathStep::sync);
    outcome
}
