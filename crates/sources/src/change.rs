//! Changes of added skills and their locks: all or none, also after a crash.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::SystemTime;

use repertoire::change::{
    self, ChangePlace, ChangeSteps, FileStep, PathStep, Recovery, SkillStep, WriterLock, read_file,
};
use repertoire::history::MAX_RECORDED_BYTES;
use repertoire::store::{LazyStore, NewVersion, Origin, put_skills};
use repertoire_model::patch::{SkillFiles, bundle};
use repertoire_model::{Digest, SkillName};

use crate::lock::{self, Lock, LockedSkill};
use crate::{Error, ErrorKind, skills_lock};

/// The hint of an interrupted change that can be neither completed nor undone.
const UNDO_HINT: &str =
    "an interrupted change cannot be undone; see that its files can be written, and try again";

/// A change of an installation.
#[derive(Debug, Default)]
pub struct Change {
    /// The skills that change.
    pub skills: Vec<SkillChange>,
    /// The steps that go with them, such as links.
    pub others: ChangeSteps<'static>,
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
    /// Everything else in its directory, which is removed with it, as [`InstalledSkill::others`] has it.
    ///
    /// [`InstalledSkill::others`]: repertoire::change::InstalledSkill::others
    pub others: Vec<String>,
    /// Its entry in the lock as it is.
    pub locked_before: Option<LockedSkill>,
    /// Its entry in the lock as it will be.
    pub locked: Option<LockedSkill>,
}

/// Completes or undoes an interrupted change; `None` if there is not one, or another process is at it.
pub fn recover(installation: &Installation, store: &LazyStore) -> Result<Option<Recovery>, Error> {
    change::recover(&installation.change_place(), store).map_err(|error| Error::from(error).hint(UNDO_HINT))
}

/// Waits until no other process changes `installation`, and completes or undoes an interrupted change.
pub fn begin(installation: &Installation, store: &LazyStore) -> Result<WriterLock, Error> {
    change::begin(&installation.change_place(), store).map_err(|error| Error::from(error).hint(UNDO_HINT))
}

/// Carries out `change`, all of it or nothing, and records the states of skills that it found or made as
/// versions in `store`. Returns notes for the user.
///
/// Fails with [`ErrorKind::Changed`] if a skill or the lock is not as the change expects.
pub fn apply(
    lock: &WriterLock,
    installation: &Installation,
    store: &LazyStore,
    change: &Change,
) -> Result<Vec<String>, Error> {
    let (files, note) =
        if change.skills.is_empty() { Default::default() } else { lock_files(installation, change)? };
    let mut steps = change.others.clone();
    steps.about.extend(change.skills.iter().map(|skill| skill.name.to_string()));
    steps.skills.extend(change.skills.iter().map(|skill| SkillStep {
        directory: installation.directory(&skill.name),
        before: skill.before.as_ref().map(Cow::Borrowed),
        after: skill.after.as_ref().map(Cow::Borrowed),
        others: Cow::Borrowed(&skill.others),
    }));
    steps.steps.extend(files.into_iter().map(PathStep::Record));
    let unrecorded = change::apply(lock, &installation.change_place(), store, &steps)?;
    let unrecorded = unrecorded.map(|error| format!("this change cannot be undone: {}", error.chain()));
    let mut notes: Vec<String> = note.into_iter().chain(unrecorded).collect();
    // The change has stored the files.
    let (_, versions) = versions(installation, change);
    if !versions.is_empty()
        && let Err(error) = store.get().and_then(|store| store.add_versions(&versions))
    {
        notes.push(format!("the new versions of the skills are not recorded: {}", error.chain()));
    }
    Ok(notes)
}

/// Records the states of skills that `change` found or made as versions in another store, with their files.
pub fn record_versions(
    installation: &Installation,
    store: &LazyStore,
    change: &Change,
) -> Result<(), repertoire::Error> {
    let (skills, versions) = versions(installation, change);
    if versions.is_empty() {
        return Ok(());
    }
    let store = store.get()?;
    put_skills(&*store, &skills)?;
    store.add_versions(&versions)
}

/// Returns the states of skills that `change` found or made, and their versions, unless they are too large
/// for that.
fn versions<'c>(installation: &Installation, change: &'c Change) -> (Vec<&'c SkillFiles>, Vec<NewVersion>) {
    let time = SystemTime::now();
    let directory = installation.skills.canonicalize().unwrap_or_else(|_| installation.skills.clone());
    let (mut skills, mut versions) = (Vec::new(), Vec::new());
    for skill in &change.skills {
        let identity = directory.join(skill.name.as_str()).to_string_lossy().into_owned();
        let is_added = skill.before.is_none() || skill.before == skill.after;
        let before = skill.before.as_ref().filter(|_| !is_added);
        let after_origin = if is_added { Origin::Add } else { Origin::Update };
        let states = before.map(|files| (files, Origin::Edit));
        for (files, origin) in states.into_iter().chain(skill.after.iter().map(|files| (files, after_origin)))
        {
            if files.values().map(|file| file.bytes.len() as u64).sum::<u64>() > MAX_RECORDED_BYTES {
                continue;
            }
            let digest = bundle(files).digest();
            let is_locked = skill.locked_before.as_ref().is_some_and(|locked| locked.digest == digest);
            let origin = if is_locked { Origin::Add } else { origin };
            let (name, skill) = (skill.name.to_string(), identity.clone());
            versions.push(NewVersion { skill, name, digest, time, origin, author: None });
            skills.push(files);
        }
    }
    (skills, versions)
}

/// Returns the lock files with their texts before and after `change`, the lock of Repertoire last, and a note
/// about one that is left alone.
fn lock_files(
    installation: &Installation,
    change: &Change,
) -> Result<(Vec<FileStep>, Option<String>), Error> {
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
    let before = read_file(&installation.lock, lock::MAX_BYTES)?;
    let before = before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let after = if lock.is_empty() { None } else { Some(lock.to_text()?) };
    let (mut files, mut note) = (Vec::new(), None);
    if let Some(path) = &installation.skills_lock
        && let Some(bytes) = read_file(path, lock::MAX_BYTES)?
    {
        let entry =
            |skill: &'_ SkillChange| (skill.name.clone(), skill.locked.clone().zip(skill.after.clone()));
        let before = String::from_utf8(bytes).ok();
        let after =
            before.as_deref().and_then(|text| skills_lock::updated(text, change.skills.iter().map(entry)));
        if after.is_some() {
            files.push(FileStep { path: path.clone(), before, after });
        } else {
            note = Some(format!("{} is not understood and left alone", path.display()));
        }
    }
    files.push(FileStep { path: installation.lock.clone(), before, after });
    Ok((files, note))
}

#[cfg(test)]
mod tests;

/// The places of the skills of a project or a user.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The root of the project, or the home directory. Relative sources count from here.
    pub base: PathBuf,
    /// The directory of the skills.
    pub skills: PathBuf,
    /// The lock.
    pub lock: PathBuf,
    /// The `skills-lock.json`, which is kept in step if it exists; a user has no such file.
    pub skills_lock: Option<PathBuf>,
    /// The directory for the journal of changes.
    pub state: PathBuf,
    /// The directory for copies of skills with conflicts.
    pub conflicts: PathBuf,
}

impl Installation {
    /// Returns where changes of the skills are made.
    pub fn change_place(&self) -> ChangePlace {
        let base = self.base.canonicalize().unwrap_or_else(|_| self.base.clone());
        // A home directory may be a project, too.
        let name = format!("{}\0{}", base.display(), self.lock.display());
        let journal = self.state.join(&Digest::of(name.as_bytes()).to_hex()[..32]);
        ChangePlace { base: self.base.clone(), skills: self.skills.clone(), journal }
    }

    /// Returns the directory of the skill `name`, which a lock or a source was checked to be able to have.
    pub fn directory(&self, name: &SkillName) -> PathBuf {
        self.skills.join(name.as_str())
    }
}
