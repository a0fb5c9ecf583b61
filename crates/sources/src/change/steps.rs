//! The steps of a change: of a skill, of links, of lock files.

use std::fs;
use std::path::{Path, PathBuf};

use repertoire::history::{remove_skill, write_skill};
use repertoire_model::patch::SkillFiles;

use super::journal::JournalFile;
use crate::installation::Installation;
use crate::{Error, ErrorKind, atomic_file, lock};

/// Makes the skill in `directory`, which has the files `before`, have the files `after`.
pub(super) fn set(
    directory: &Path,
    before: Option<&SkillFiles>,
    after: Option<&SkillFiles>,
) -> Result<(), Error> {
    // A link could lead anywhere.
    if directory.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(in_the_way(directory));
    }
    match (before, after) {
        (Some(before), None) => remove_skill(directory, before).map_err(|error| changed(directory, error)),
        (None, None) => Ok(()),
        (None, Some(after)) => {
            if directory.symlink_metadata().is_ok() {
                return Err(in_the_way(directory));
            }
            let outcome = write_skill(directory, &SkillFiles::new(), after);
            outcome.map(drop).map_err(|error| changed(directory, error))
        }
        (Some(before), Some(after)) if before == after => Ok(()),
        (Some(before), Some(after)) => {
            write_skill(directory, before, after).map(drop).map_err(|error| changed(directory, error))
        }
    }
}

fn in_the_way(directory: &Path) -> Error {
    Error::new(ErrorKind::Changed, format!("{} is already there", directory.display()))
        .hint("nothing was changed; move it away, or remove it")
}

fn changed(directory: &Path, error: repertoire::Error) -> Error {
    if error.kind() == repertoire::ErrorKind::SkillChanged {
        let message = format!("{} was changed meanwhile", directory.display());
        return Error::new(ErrorKind::Changed, message).hint("nothing was changed; run it again");
    }
    Error::new(ErrorKind::Io, format!("cannot write {}", directory.display())).because(error)
}

pub(super) fn remove_links(links: &[PathBuf]) {
    for link in links {
        if link.is_symlink() {
            // A link that leads nowhere does no harm, and `rep doctor` reports it.
            let _ = if cfg!(windows) { fs::remove_dir(link) } else { fs::remove_file(link) };
        }
    }
}

/// Writes the lock files, the lock of Repertoire last.
pub(super) fn write_locks(installation: &Installation, files: &[JournalFile]) -> Result<(), Error> {
    for file in files {
        let Some(path) = file.kind.path(installation) else { continue };
        atomic_file::write(&path, file.after.as_deref().map(str::as_bytes))?;
    }
    Ok(())
}

/// Makes the lock files as they were.
pub(super) fn restore_locks(installation: &Installation, files: &[JournalFile]) -> Result<(), Error> {
    for file in files {
        let Some(path) = file.kind.path(installation) else { continue };
        let found = atomic_file::read(&path, lock::MAX_BYTES)?;
        if found.as_deref() == file.after.as_deref().map(str::as_bytes) {
            atomic_file::write(&path, file.before.as_deref().map(str::as_bytes))?;
        }
    }
    Ok(())
}
