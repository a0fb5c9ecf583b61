//! Completes or undoes a change that a crash interrupted.

use std::path::PathBuf;

use repertoire::history::{lock_skill, remove_unfinished_writes};
use repertoire_model::Digest;
use repertoire_model::patch::{SkillFiles, bundle};

use super::journal::{Journal, JournalFile, JournalSkill};
use super::steps::{remove_links, restore_locks, set, write_locks};
use super::writer_lock::{WriterLock, state_file};
use crate::bundle_store::BundleStore;
use crate::installation::Installation;
use crate::installed::read_installed;
use crate::{Error, ErrorKind, atomic_file, lock};

/// The end of an interrupted change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// It was completed.
    Completed,
    /// It was undone.
    Undone,
}

/// Completes or undoes an interrupted change of `installation`; `None` if there is none, or another process is at it.
pub fn recover(installation: &Installation, store: &BundleStore) -> Result<Option<Recovery>, Error> {
    // Without a journal, which is the rule, nothing is locked.
    if !state_file(installation, "json").is_file() {
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
    let Some(journal) = Journal::read(installation)? else { return Ok(None) };
    let steps = || -> Result<Vec<Step>, Error> {
        journal.skills.iter().map(|skill| Step::new(installation, skill)).collect()
    };
    let recovery = if complete(store, &steps()?).is_ok() {
        remove_links(&journal.links);
        write_locks(installation, &known(installation, journal.files)?)?;
        Recovery::Completed
    } else {
        // Some may have been completed.
        undo(store, &steps()?)?;
        restore_locks(installation, &journal.files)?;
        Recovery::Undone
    };
    Journal::remove(installation)?;
    Ok(Some(recovery))
}

/// A skill of the change, as it lies there.
struct Step {
    directory: PathBuf,
    files: Option<SkillFiles>,
    state: Option<Digest>,
    before: Option<Digest>,
    after: Option<Digest>,
}

impl Step {
    fn new(installation: &Installation, skill: &JournalSkill) -> Result<Self, Error> {
        let directory = installation.directory(&skill.name);
        let files = read_installed(&directory)?.map(|installed| installed.files);
        let state = files.as_ref().map(|files| bundle(files).digest());
        Ok(Self { directory, files, state, before: skill.before, after: skill.after })
    }

    /// Brings the skill to the state `to`, unless others have changed it since.
    fn set(&self, store: &BundleStore, from: Option<Digest>, to: Option<Digest>) -> Result<(), Error> {
        if self.state != from || from == to {
            return Ok(());
        }
        let files = to.map(|digest| store.get(&digest)).transpose()?;
        match files {
            Some(None) => Err(Error::new(ErrorKind::Changed, "a fetched skill is not stored any more")),
            files => set(&self.directory, self.files.as_ref(), files.flatten().as_ref()),
        }
    }
}

fn complete(store: &BundleStore, steps: &[Step]) -> Result<(), Error> {
    steps.iter().try_for_each(|step| step.set(store, step.before, step.after))
}

fn undo(store: &BundleStore, steps: &[Step]) -> Result<(), Error> {
    steps.iter().try_for_each(|step| step.set(store, step.after, step.before))
}

/// Returns those of `files` that are as they were before or after the change: others are not ours any more.
fn known(installation: &Installation, files: Vec<JournalFile>) -> Result<Vec<JournalFile>, Error> {
    let mut known = Vec::new();
    for file in files {
        let Some(path) = file.kind.path(installation) else { continue };
        let found = atomic_file::read(&path, lock::MAX_BYTES)?;
        let is = |text: &Option<String>| found.as_deref() == text.as_deref().map(str::as_bytes);
        if is(&file.before) || is(&file.after) {
            known.push(file);
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests;
