//! Read-only copies of skills, so that the approved files are what runs.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use repertoire_model::{Bundle, BundleFile, Digest, LineRange};

use super::executor::Executor;
use repertoire::registry::{Entry, Registry};
use repertoire::{Error, ErrorKind, regular_file};

/// The directory of copies, in the state directory.
const DIRECTORY: &str = "run";
/// The most copies that are kept, not counting those in use; the least recently used ones are removed first.
const MAX_COPIES: usize = 64;
/// The time after its last use until a copy may be removed: longer than any job runs.
const IN_USE: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the directory with a copy of `entry`, whose files are exactly those of `bundle`.
///
/// It is named by the digest of the bundle, so that all runs of the same content share one copy. Fails with
/// [`ErrorKind::SkillChanged`] if the skill has changed since.
pub(super) async fn copy(
    executor: &Executor,
    registry: &Registry,
    entry: &Entry,
    bundle: &Bundle,
) -> Result<PathBuf, Error> {
    let digest = bundle.digest();
    let parent = executor.options.state.join(DIRECTORY);
    let path = parent.join(digest.to_hex());
    let is_verified = executor.verified.lock().unwrap_or_else(PoisonError::into_inner).contains(&digest);
    let (place, files) = (path.clone(), bundle.clone());
    let is_there = blocking::unblock(move || {
        let is_there = place.is_dir() && (is_verified || is_copy(&place, &files));
        if is_there {
            touch(&place);
        }
        is_there
    })
    .await;
    if !is_there {
        let mut contents = Vec::with_capacity(bundle.files().len());
        for file in bundle.files() {
            let content = registry.read(entry, &file.path, LineRange::default()).await?;
            if Digest::of(&content.bytes) != file.digest {
                return Err(Error::new(ErrorKind::SkillChanged).about(entry.name().as_str()));
            }
            contents.push((file.clone(), content.bytes));
        }
        let (place, about, files) = (path.clone(), path.clone(), bundle.clone());
        blocking::unblock(move || write(&parent, &place, &files, &contents))
            .await
            .map_err(|error| Error::new(ErrorKind::Io).at(about).because(error))?;
    }
    executor.verified.lock().unwrap_or_else(PoisonError::into_inner).insert(digest);
    // A sandbox does not have the directories that a path with `..` goes through.
    path.canonicalize().map_err(|error| Error::new(ErrorKind::Io).at(path).because(error))
}

/// Returns whether `path` contains exactly the files of `bundle`.
fn is_copy(path: &Path, bundle: &Bundle) -> bool {
    let is_same = |file: &BundleFile| {
        let place = path.join(file.path.as_str());
        let is_plain = place.symlink_metadata().is_ok_and(|found| found.is_file() && has_mode(&found, file));
        is_plain
            && regular_file::read(&place, file.size.min(u64::MAX - 1))
                .is_ok_and(|bytes| Digest::of(&bytes) == file.digest)
    };
    count(path).is_ok_and(|count| count == bundle.files().len()) && bundle.files().iter().all(is_same)
}

/// Returns whether a copied file is read-only, and executable as in the bundle.
fn has_mode(found: &fs::Metadata, file: &BundleFile) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        found.permissions().mode() & 0o777 == mode(file)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        found.permissions().readonly()
    }
}

fn mode(file: &BundleFile) -> u32 {
    if file.executable { 0o555 } else { 0o444 }
}

/// Returns the number of entries below `path` that are not directories.
fn count(path: &Path) -> io::Result<usize> {
    let mut total = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        total += if entry.file_type()?.is_dir() { count(&entry.path())? } else { 1 };
    }
    Ok(total)
}

/// Marks the copy at `path` as used now.
fn touch(path: &Path) {
    // If that fails, the copy keeps its old time.
    let _ = File::open(path).and_then(|directory| directory.set_modified(SystemTime::now()));
}

/// Writes the files of `bundle` to the directory `path` in `parent`, atomically.
///
/// Another run may use the directory, so it is not removed in place: a valid copy stays, others are renamed.
fn write(parent: &Path, path: &Path, bundle: &Bundle, contents: &[(BundleFile, Vec<u8>)]) -> io::Result<()> {
    fs::create_dir_all(parent)?;
    // Processes in containers that share the directory may have the same number.
    let random = RandomState::new().hash_one(());
    let temporary = parent.join(format!(".{random:016x}.tmp"));
    let written = (|| {
        for (file, bytes) in contents {
            let place = temporary.join(file.path.as_str());
            fs::create_dir_all(place.parent().unwrap_or(&temporary))?;
            File::options().write(true).create_new(true).open(&place)?.write_all(bytes)?;
            set_mode(&place, mode(file))?;
        }
        make_directories_read_only(&temporary)?;
        if fs::rename(&temporary, path).is_ok() {
            return Ok(());
        }
        // Another process was faster, or the existing copy is invalid.
        if !is_copy(path, bundle) {
            let aside = parent.join(format!(".{random:016x}.bad.tmp"));
            fs::rename(path, aside)?;
            fs::rename(&temporary, path)?;
        }
        Ok(())
    })();
    remove(&temporary);
    if let Err(error) = written {
        return if is_copy(path, bundle) { Ok(()) } else { Err(error) };
    }
    prune(parent);
    Ok(())
}

/// Sets the mode of a file or directory. On systems without modes it becomes read-only.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt as _;
        fs::Permissions::from_mode(mode)
    };
    #[cfg(not(unix))]
    let permissions = {
        let _ = mode;
        let mut permissions = fs::metadata(path)?.permissions();
        permissions.set_readonly(true);
        permissions
    };
    fs::set_permissions(path, permissions)
}

/// Makes the directories below `path` read-only, but not `path` itself.
fn make_directories_read_only(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_directories_read_only(&entry.path())?;
            set_mode(&entry.path(), 0o555)?;
        }
    }
    Ok(())
}

/// Removes the directory at `path` with its read-only subdirectories, ignoring errors.
fn remove(path: &Path) {
    fn open(path: &Path) {
        #[cfg(unix)]
        let _ = set_mode(path, 0o755);
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open(&entry.path());
            }
        }
    }
    open(path);
    let _ = fs::remove_dir_all(path);
}

/// Removes the least recently used copies beyond [`MAX_COPIES`], and leftovers of interrupted writes.
fn prune(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut copies: Vec<(SystemTime, PathBuf)> =
        entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    // No job runs for that long, so a stale copy is not in use.
    let is_stale = |used: &SystemTime| used.elapsed().is_ok_and(|age| age > IN_USE);
    let is_temporary =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    for (_, path) in copies.iter().filter(|(written, path)| is_temporary(path) && is_stale(written)) {
        remove(path);
    }
    copies.retain(|(_, path)| !is_temporary(path));
    copies.sort_unstable();
    let surplus = copies.len().saturating_sub(MAX_COPIES);
    copies.into_iter().take(surplus).filter(|(used, _)| is_stale(used)).for_each(|(_, path)| remove(&path));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_recently_used_copies_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::now() - 2 * IN_USE;
        for number in 0..MAX_COPIES + 3 {
            let path = parent.path().join(format!("{number:03}"));
            fs::create_dir(&path).unwrap();
            if number < 2 {
                File::open(&path).unwrap().set_modified(long_ago).unwrap();
            }
        }
        for (name, is_old) in [(".1-1.tmp", true), (".1-2.tmp", false)] {
            fs::create_dir(parent.path().join(name)).unwrap();
            if is_old {
                File::open(parent.path().join(name)).unwrap().set_modified(long_ago).unwrap();
            }
        }
        touch(&parent.path().join("001"));
        prune(parent.path());
        let is_there = |name: &str| parent.path().join(name).symlink_metadata().is_ok();
        assert!(!is_there("000") && is_there("001") && is_there("002"));
        assert!(!is_there(".1-1.tmp") && is_there(".1-2.tmp"));
    }
}
