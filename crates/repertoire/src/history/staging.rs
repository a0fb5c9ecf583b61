//! Hidden directories beside a skill, in which its new state is built and to which its old one is moved.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::skill_lock::SkillLock;
use crate::provider::fs::STAGING;

/// The age at which a staging directory of another process is no longer in use.
pub(super) const STALE: Duration = Duration::from_secs(10 * 60);

/// The directory beside the skills that holds the skills that a change removes, until it has ended. Scans
/// leave it out, as they do with all unfinished writes. It is not a leftover: an undo needs it.
pub(crate) const REMOVED: &str = ".rep-staging-removed";

/// Returns a path in `parent` that no other write uses, for the directory called `name`.
pub(super) fn staging_path(parent: &Path, name: &OsStr) -> PathBuf {
    // Processes in containers that share the directory may have the same number.
    let random = RandomState::new().hash_one(());
    let name: String = name.to_string_lossy().chars().take(64).collect();
    parent.join(format!("{STAGING}{random:016x}-{name}"))
}

/// Makes the entries of `directory` durable.
pub(super) fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Exchanges two directories in one step.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(io::Error::from)
}

/// Exchanges two directories in three steps, where the system has no single one.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let aside = one.with_extension("old");
    fs::rename(other, &aside)?;
    fs::rename(one, other)?;
    fs::rename(aside, one)
}

/// Moves the directory `from` to `to`, where nothing may be.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(super) fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Removes what interrupted writes left in the directory `skills`, which `lock` is about, whatever its age:
/// no other process writes there.
pub fn remove_unfinished_writes(skills: &Path, lock: &SkillLock) {
    // Where directories cannot be locked, somebody may.
    if lock.is_held() {
        remove_leftovers_older_than(skills, Duration::ZERO);
    }
}

/// Removes directories that processes left behind which were interrupted.
pub(super) fn remove_leftovers(parent: &Path) {
    remove_leftovers_older_than(parent, STALE);
}

fn remove_leftovers_older_than(parent: &Path, least: Duration) {
    for child in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = child.file_name();
        let is_staging = name.to_str().is_some_and(|name| name.starts_with(STAGING) && name != REMOVED);
        let created = child.metadata().and_then(|metadata| metadata.modified());
        if is_staging && created.is_ok_and(|time| time.elapsed().is_ok_and(|age| age >= least)) {
            let _ = fs::remove_dir_all(child.path());
        }
    }
}
