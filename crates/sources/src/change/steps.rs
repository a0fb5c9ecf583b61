//! The steps of a change: of a skill, of links, of lock files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use repertoire::change::{FileKind, read_file, replace_file};
use repertoire::history::write_skill_of_batch;
use repertoire_model::SkillName;
use repertoire_model::patch::SkillFiles;

use super::journal::{JournalFile, JournalLink};
use crate::installation::Installation;
use crate::installed::{InstalledSkill, read_installed};
use crate::{Error, ErrorKind, lock};

/// The directory beside the skills that holds the removed ones until the change has ended. Scans leave it out, as they do with all
/// unfinished writes.
const REMOVED: &str = ".rep-staging-removed";

/// The name of that directory while it is deleted.
const DISCARDED: &str = ".rep-staging-discarded";

/// Makes the skill `name`, which is `before`, have the files `after`; it is durable once the directory of the skills is. A skill with everything else in its directory is removed only if
/// it is exactly as it is expected.
pub(super) fn set(
    installation: &Installation,
    name: &SkillName,
    before: Option<&InstalledSkill>,
    after: Option<&SkillFiles>,
) -> Result<(), Error> {
    let directory = &installation.directory(name);
    // A link could lead anywhere.
    if directory.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(in_the_way(directory));
    }
    match (before, after) {
        (None, None) => Ok(()),
        (Some(before), None) => remove(installation, name, before),
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
fn remove(installation: &Installation, name: &SkillName, expected: &InstalledSkill) -> Result<(), Error> {
    let (directory, aside) = (installation.directory(name), removed_directory(installation, name));
    let failed = |error| Error::io("remove", &directory, error);
    fs::create_dir_all(installation.skills.join(REMOVED)).map_err(failed)?;
    // What an earlier change left there has been removed.
    match fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::rename(&directory, &aside).map_err(failed)?;
    // What somebody made or edited in the meantime must not be lost.
    if !matches!(read_installed(&aside), Ok(Some(found)) if found == *expected) {
        put_back(installation, name)?;
        return Err(changed(&directory));
    }
    Ok(())
}

/// Returns the directory of the skill `name` while it is removed.
pub(super) fn removed_directory(installation: &Installation, name: &SkillName) -> PathBuf {
    installation.skills.join(REMOVED).join(name.as_str())
}

/// Moves a removed skill back, with everything that was in its directory.
pub(super) fn put_back(installation: &Installation, name: &SkillName) -> Result<(), Error> {
    let directory = installation.directory(name);
    if directory.symlink_metadata().is_ok() {
        return Err(in_the_way(&directory));
    }
    fs::rename(removed_directory(installation, name), &directory)
        .map_err(|error| Error::io("write", &directory, error))
}

/// Deletes the removed skills for good: the change has ended.
pub(super) fn discard_removed(installation: &Installation) {
    let (removed, discarded) = (installation.skills.join(REMOVED), installation.skills.join(DISCARDED));
    // They are gone in one step, so that no recovery takes what is half deleted for what somebody edited. What cannot be deleted is left
    // out by scans, and the next write tries it again.
    let _ = fs::remove_dir_all(&discarded);
    let _ = fs::rename(removed, &discarded).and_then(|()| fs::remove_dir_all(&discarded));
}

fn in_the_way(directory: &Path) -> Error {
    Error::new(ErrorKind::Changed, format!("{} is already there", directory.display()))
        .hint("nothing was changed; move it away, or remove it")
}

fn changed(directory: &Path) -> Error {
    let message = format!("{} was changed meanwhile", directory.display());
    Error::new(ErrorKind::Changed, message).hint("nothing was changed; run it again")
}

fn not_written(directory: &Path, error: repertoire::Error) -> Error {
    if error.kind() == repertoire::ErrorKind::SkillChanged {
        return changed(directory);
    }
    Error::new(ErrorKind::Io, format!("cannot write {}", directory.display())).because(error)
}

/// Removes `links`, if they are as they were.
pub(super) fn remove_links(links: &[JournalLink]) {
    for JournalLink { path, to } in links {
        if fs::read_link(path).is_ok_and(|found| found == *to) {
            // A link that leads nowhere does no harm, and `rep doctor` reports it.
            let _ = if cfg!(windows) { fs::remove_dir(path) } else { fs::remove_file(path) };
        }
    }
}

/// Makes `links` again where nothing stands.
pub(super) fn restore_links(links: &[JournalLink]) -> Result<(), Error> {
    for JournalLink { path, to } in links {
        match make_link(to, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::io("make", path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(windows)]
fn make_link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(to, path)
}

#[cfg(unix)]
fn make_link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

#[cfg(not(any(unix, windows)))]
fn make_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Writes the lock files, the lock of Repertoire last.
pub(super) fn write_locks(installation: &Installation, files: &[JournalFile]) -> Result<(), Error> {
    for file in files {
        let Some(path) = file.kind.path(installation) else { continue };
        replace_file(&path, FileKind::Record, file.after.as_deref().map(str::as_bytes))?;
    }
    Ok(())
}

/// Makes the lock files as they were.
pub(super) fn restore_locks(installation: &Installation, files: &[JournalFile]) -> Result<(), Error> {
    for file in files {
        let Some(path) = file.kind.path(installation) else { continue };
        let found = read_file(&path, lock::MAX_BYTES)?;
        if found.as_deref() == file.after.as_deref().map(str::as_bytes) {
            replace_file(&path, FileKind::Record, file.before.as_deref().map(str::as_bytes))?;
        }
    }
    Ok(())
}
