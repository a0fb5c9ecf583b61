//! The change of one skill in its directory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use repertoire_model::patch::SkillFiles;

use super::installed::{InstalledSkill, read_installed};
use super::journal::JournalSkill;
use crate::history::{REMOVED, sync_skills, write_skill_of_batch};
use crate::{Error, ErrorKind};

/// The name of that directory while it is deleted.
const DISCARDED: &str = ".rep-staging-discarded";

/// Makes the skill in `directory`, which is `before`, have the files `after`; it is durable once the
/// directory of the skills is. A skill with everything else in its directory is removed only if it is exactly
/// as it is expected.
pub(super) fn set(
    directory: &Path,
    before: Option<&InstalledSkill>,
    after: Option<&SkillFiles>,
) -> Result<(), Error> {
    // A link could lead anywhere.
    if directory.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(in_the_way(directory));
    }
    match (before, after) {
        (None, None) => Ok(()),
        (Some(before), None) => remove(directory, before),
        (None, Some(after)) => {
            if directory.symlink_metadata().is_ok() {
                return Err(in_the_way(directory));
            }
            let outcome = write_skill_of_batch(directory, &SkillFiles::new(), after);
            outcome.map(drop).map_err(|error| not_written(directory, error))
        }
        (Some(before), Some(after)) if before.files == *after => Ok(()),
        (Some(before), Some(after)) => {
            let outcome = write_skill_of_batch(directory, &before.files, after);
            outcome.map(drop).map_err(|error| not_written(directory, error))
        }
    }
}

/// Moves the skill aside in one step.
fn remove(directory: &Path, expected: &InstalledSkill) -> Result<(), Error> {
    let aside = removed_directory(directory);
    let failed = |error| Error::io("remove", directory, error);
    fs::create_dir_all(directory.with_file_name(REMOVED)).map_err(failed)?;
    // Leftovers of an earlier change have been removed.
    match fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::rename(directory, &aside).map_err(failed)?;
    // Files that somebody made or edited in the meantime must not be lost.
    if !matches!(read_installed(&aside), Ok(Some(found)) if found == *expected) {
        put_back(directory)?;
        return Err(changed(directory));
    }
    Ok(())
}

/// Returns where the skill in `directory` lies while it is removed.
pub(super) fn removed_directory(directory: &Path) -> PathBuf {
    directory.with_file_name(REMOVED).join(directory.file_name().unwrap_or_default())
}

/// Moves a removed skill back, with everything that was in its directory.
pub(super) fn put_back(directory: &Path) -> Result<(), Error> {
    if directory.symlink_metadata().is_ok() {
        return Err(in_the_way(directory));
    }
    fs::rename(removed_directory(directory), directory).map_err(|error| Error::io("write", directory, error))
}

/// Returns the directories around the `skills` of a change, each once.
fn parents(skills: &[JournalSkill]) -> BTreeSet<&Path> {
    skills.iter().filter_map(|skill| skill.directory.parent()).collect()
}

/// Makes the changes of `skills` survive a power failure.
pub(super) fn sync_all(skills: &[JournalSkill]) -> Result<(), Error> {
    parents(skills).into_iter().try_for_each(sync_skills)
}

/// Deletes the removed skills for good: the change has ended.
pub(super) fn discard_removed(skills: &[JournalSkill]) {
    for parent in parents(skills) {
        let (removed, discarded) = (parent.join(REMOVED), parent.join(DISCARDED));
        // They are gone in one step, so that no recovery takes what is half deleted for what somebody edited.
        // Files that cannot be deleted are left out by scans, and the next write tries it again.
        let _ = fs::remove_dir_all(&discarded);
        let _ = fs::rename(removed, &discarded).and_then(|()| fs::remove_dir_all(&discarded));
    }
}

fn in_the_way(directory: &Path) -> Error {
    Error::new(ErrorKind::AlreadyThere).at(directory)
}

fn changed(directory: &Path) -> Error {
    Error::new(ErrorKind::FileChanged).at(directory)
}

fn not_written(directory: &Path, error: Error) -> Error {
    if error.kind() == ErrorKind::SkillChanged {
        return changed(directory);
    }
    Error::io("write", directory, error)
}
