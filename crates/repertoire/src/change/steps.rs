//! The steps of a change: of a skill, of links, of other files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use repertoire_model::SkillName;
use repertoire_model::patch::SkillFiles;

use super::installed::{InstalledSkill, read_installed};
use super::journal::{FileStep, JournalLink};
use super::place::ChangePlace;
use super::replace_file::{FileKind, MAX_FILE_BYTES, read_file, replace_file};
use crate::history::write_skill_of_batch;
use crate::{Error, ErrorKind};

/// The directory beside the skills that holds the removed ones until the change has ended. Scans leave it out, as they do with all
/// unfinished writes.
const REMOVED: &str = ".rep-staging-removed";

/// The name of that directory while it is deleted.
const DISCARDED: &str = ".rep-staging-discarded";

/// Makes the skill `name`, which is `before`, have the files `after`; it is durable once the directory of the skills is. A skill with everything else in its directory is removed only if
/// it is exactly as it is expected.
pub(super) fn set(
    place: &ChangePlace,
    name: &SkillName,
    before: Option<&InstalledSkill>,
    after: Option<&SkillFiles>,
) -> Result<(), Error> {
    let directory = &place.directory(name);
    // A link could lead anywhere.
    if directory.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(in_the_way(directory));
    }
    match (before, after) {
        (None, None) => Ok(()),
        (Some(before), None) => remove(place, name, before),
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
fn remove(place: &ChangePlace, name: &SkillName, expected: &InstalledSkill) -> Result<(), Error> {
    let (directory, aside) = (place.directory(name), removed_directory(place, name));
    let failed = |error| Error::io("remove", &directory, error);
    fs::create_dir_all(place.skills.join(REMOVED)).map_err(failed)?;
    // What an earlier change left there has been removed.
    match fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::rename(&directory, &aside).map_err(failed)?;
    // What somebody made or edited in the meantime must not be lost.
    if !matches!(read_installed(&aside), Ok(Some(found)) if found == *expected) {
        put_back(place, name)?;
        return Err(changed(&directory));
    }
    Ok(())
}

/// Returns the directory of the skill `name` while it is removed.
pub(super) fn removed_directory(place: &ChangePlace, name: &SkillName) -> PathBuf {
    place.skills.join(REMOVED).join(name.as_str())
}

/// Moves a removed skill back, with everything that was in its directory.
pub(super) fn put_back(place: &ChangePlace, name: &SkillName) -> Result<(), Error> {
    let directory = place.directory(name);
    if directory.symlink_metadata().is_ok() {
        return Err(in_the_way(&directory));
    }
    fs::rename(removed_directory(place, name), &directory)
        .map_err(|error| Error::io("write", &directory, error))
}

/// Deletes the removed skills for good: the change has ended.
pub(super) fn discard_removed(place: &ChangePlace) {
    let (removed, discarded) = (place.skills.join(REMOVED), place.skills.join(DISCARDED));
    // They are gone in one step, so that no recovery takes what is half deleted for what somebody edited. What cannot be deleted is left
    // out by scans, and the next write tries it again.
    let _ = fs::remove_dir_all(&discarded);
    let _ = fs::rename(removed, &discarded).and_then(|()| fs::remove_dir_all(&discarded));
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

/// Writes `files`.
pub(super) fn write_files(files: &[FileStep]) -> Result<(), Error> {
    files.iter().try_for_each(|FileStep { path, after, .. }| {
        replace_file(path, FileKind::Record, after.as_deref().map(str::as_bytes))
    })
}

/// Makes `files` as they were.
pub(super) fn restore_files(files: &[FileStep]) -> Result<(), Error> {
    for FileStep { path, before, after } in files {
        if read_file(path, MAX_FILE_BYTES)?.as_deref() == after.as_deref().map(str::as_bytes) {
            replace_file(path, FileKind::Record, before.as_deref().map(str::as_bytes))?;
        }
    }
    Ok(())
}

/// Returns those of `files` that are as they were before or after the change: others are not ours any more.
pub(super) fn known_files(files: &[FileStep]) -> Result<Vec<FileStep>, Error> {
    let mut known = Vec::new();
    for file in files {
        let found = read_file(&file.path, MAX_FILE_BYTES)?;
        let is = |text: &Option<String>| found.as_deref() == text.as_deref().map(str::as_bytes);
        if is(&file.before) || is(&file.after) {
            known.push(file.clone());
        }
    }
    Ok(known)
}
