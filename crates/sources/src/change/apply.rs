//! Carries out a change.

use std::path::{Path, PathBuf};

use repertoire_model::SkillName;
use repertoire_model::patch::SkillFiles;

use super::journal::{Journal, JournalFile, JournalSkill, LockKind};
use super::recover::recover_locked;
use super::steps::{remove_links, restore_locks, set, write_locks};
use super::writer_lock::WriterLock;
use crate::bundle_store::BundleStore;
use crate::installation::Installation;
use crate::lock::{self, Lock, LockedSkill};
use crate::{Error, ErrorKind, atomic_file, skills_lock};

/// A change of an installation.
#[derive(Debug, Default)]
pub struct Change {
    /// The skills that change.
    pub skills: Vec<SkillChange>,
    /// Links that lead to removed skills and go with them.
    pub links: Vec<PathBuf>,
}

/// A change of a skill.
#[derive(Debug)]
pub struct SkillChange {
    /// Its name.
    pub name: SkillName,
    /// Its files as they are; none if it is added.
    pub before: Option<SkillFiles>,
    /// Its files as they will be; none if it is removed.
    pub after: Option<SkillFiles>,
    /// Its entry in the lock as it is.
    pub locked_before: Option<LockedSkill>,
    /// Its entry in the lock as it will be.
    pub locked: Option<LockedSkill>,
}

/// Carries out `change`, all of it or nothing. Returns notes for the user.
///
/// Fails with [`ErrorKind::Changed`] if a skill or the lock is not as the change expects.
pub fn apply(
    installation: &Installation,
    store: &BundleStore,
    change: &Change,
) -> Result<Vec<String>, Error> {
    let _lock = WriterLock::acquire(installation)?;
    recover_locked(installation, store)?;
    let mut notes = Vec::new();
    let (files, note) = lock_files(installation, change)?;
    notes.extend(note);
    let mut journal = Journal { skills: Vec::new(), files, links: change.links.clone() };
    for skill in &change.skills {
        let put = |files: &Option<SkillFiles>| files.as_ref().map(|files| store.put(files)).transpose();
        let (before, after) = (put(&skill.before)?, put(&skill.after)?);
        journal.skills.push(JournalSkill { name: skill.name.clone(), before, after });
    }
    journal.write(installation)?;
    let mut done = 0;
    let outcome = change.skills.iter().try_for_each(|skill| {
        set(&installation.directory(&skill.name), skill.before.as_ref(), skill.after.as_ref())?;
        done += 1;
        Ok(())
    });
    let outcome: Result<(), Error> = outcome.and_then(|()| {
        remove_links(&journal.links);
        write_locks(installation, &journal.files)
    });
    if let Err(error) = outcome {
        for skill in change.skills[..done].iter().rev() {
            set(&installation.directory(&skill.name), skill.after.as_ref(), skill.before.as_ref())?;
        }
        restore_locks(installation, &journal.files)?;
        Journal::remove(installation)?;
        return Err(error);
    }
    Journal::remove(installation)?;
    store.collect_garbage();
    Ok(notes)
}

/// Returns the lock files with their texts before and after `change`, and a note about one that is left alone.
fn lock_files(
    installation: &Installation,
    change: &Change,
) -> Result<(Vec<JournalFile>, Option<String>), Error> {
    let mut lock = Lock::read(&installation.lock)?;
    for skill in &change.skills {
        if lock.get(skill.name.as_str()) != skill.locked_before.as_ref() {
            let message = format!("the entry of `{}` in the lock was changed meanwhile", skill.name);
            return Err(Error::new(ErrorKind::Changed, message).hint("nothing was changed; run it again"));
        }
        match &skill.locked {
            Some(locked) => lock.insert(locked.clone()),
            None => {
                lock.remove(&skill.name);
            }
        }
    }
    let text = |path: &Path| -> Result<Option<String>, Error> {
        let bytes = atomic_file::read(path, lock::MAX_BYTES)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    let before = text(&installation.lock)?;
    let after = if lock.is_empty() { None } else { Some(lock.to_text()?) };
    let (mut files, mut note) = (Vec::new(), None);
    if let Some(path) = &installation.skills_lock
        && let Some(before) = text(path)?
    {
        let entry =
            |skill: &'_ SkillChange| (skill.name.clone(), skill.locked.clone().zip(skill.after.clone()));
        match skills_lock::updated(&before, change.skills.iter().map(entry)) {
            Some(after) => {
                files.push(JournalFile { kind: LockKind::Skills, before: Some(before), after: Some(after) });
            }
            None => note = Some(format!("{} is not understood and left alone", path.display())),
        }
    }
    files.push(JournalFile { kind: LockKind::Own, before, after });
    Ok((files, note))
}
