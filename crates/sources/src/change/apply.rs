//! Carries out a change.

use std::fs;
use std::path::{Path, PathBuf};

use repertoire::change::read_file;
use repertoire::history::sync_skills;
use repertoire_model::SkillName;
use repertoire_model::patch::SkillFiles;

use super::journal::{Journal, JournalFile, JournalLink, JournalSkill, LockKind, named_bundles};
use super::recover::{recover_locked, undo};
use super::steps::{discard_removed, remove_links, set, write_locks};
use super::writer_lock::WriterLock;
use crate::bundle_store::BundleStore;
use crate::installation::Installation;
use crate::installed::InstalledSkill;
use crate::lock::{self, Lock, LockedSkill};
use crate::parallel::in_parallel;
use crate::{Error, ErrorKind, skills_lock};

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
    /// Everything else in its directory, which goes with it if it is removed, as [`InstalledSkill::others`] has it.
    pub others: Vec<String>,
    /// Its entry in the lock as it is.
    pub locked_before: Option<LockedSkill>,
    /// Its entry in the lock as it will be.
    pub locked: Option<LockedSkill>,
}

/// A change that was carried out. Until this value is dropped nobody else changes the installation, and after a crash [`recover`]
/// returns the change as completed, so that what goes with it, such as links, can be completed too.
///
/// [`recover`]: crate::recover
#[derive(Debug)]
#[must_use]
pub struct AppliedChange {
    /// Notes for the user.
    pub notes: Vec<String>,
    installation: Installation,
    store: BundleStore,
    _lock: WriterLock,
}

impl Drop for AppliedChange {
    fn drop(&mut self) {
        discard_removed(&self.installation);
        // A journal that stays is that of a completed change, which the next command finds to be so.
        let _ = Journal::remove(&self.installation);
        self.store.collect_garbage(&named_bundles(&self.installation.state));
    }
}

/// Carries out `change`, all of it or nothing.
///
/// Fails with [`ErrorKind::Changed`] if a skill or the lock is not as the change expects.
pub fn apply(
    installation: &Installation,
    store: &BundleStore,
    change: &Change,
) -> Result<AppliedChange, Error> {
    let lock = WriterLock::acquire(installation)?;
    recover_locked(installation, store)?;
    let mut notes = Vec::new();
    let (files, note) = lock_files(installation, change)?;
    notes.extend(note);
    let link = |path: &PathBuf| Some(JournalLink { path: path.clone(), to: fs::read_link(path).ok()? });
    let links = change.links.iter().filter_map(link).collect();
    let mut journal = Journal { skills: Vec::new(), files, links, is_undo: false };
    let stored = in_parallel(&change.skills, |skill| -> Result<JournalSkill, Error> {
        // What the skill was is needed to undo the change. Without what it will be, the change is undone.
        let before = skill.before.as_ref().map(|files| store.put_durably(files)).transpose()?;
        let after = skill.after.as_ref().map(|files| store.put(files)).transpose()?;
        Ok(JournalSkill { name: skill.name.clone(), before, after, others: skill.others.clone() })
    });
    journal.skills = stored.into_iter().collect::<Result<_, _>>()?;
    journal.write(installation)?;
    if let Err(error) = carry_out(installation, change, &journal) {
        return Err(match undo(installation, store, &mut journal) {
            Ok(_) => error,
            Err(second) => error
                .hint(format!("what was changed already could not be undone: {second}"))
                .hint("the next command tries it again"),
        });
    }
    Ok(AppliedChange { notes, installation: installation.clone(), store: store.clone(), _lock: lock })
}

fn carry_out(installation: &Installation, change: &Change, journal: &Journal) -> Result<(), Error> {
    let outcomes = in_parallel(&change.skills, |skill| {
        let (files, others) = (skill.before.clone(), skill.others.clone());
        let before = files.map(|files| InstalledSkill { files, others });
        set(installation, &skill.name, before.as_ref(), skill.after.as_ref())
    });
    outcomes.into_iter().collect::<Result<(), Error>>()?;
    sync_skills(&installation.skills)?;
    remove_links(&journal.links);
    write_locks(installation, &journal.files)
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
        let bytes = read_file(path, lock::MAX_BYTES)?;
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
