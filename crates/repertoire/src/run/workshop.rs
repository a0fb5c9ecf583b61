//! A copy of a skill that nothing changes any more, so that what runs is what was approved.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use repertoire_model::{Bundle, BundleFile, Digest, LineRange};

use super::executor::Executor;
use crate::registry::{Entry, Registry};
use crate::{Error, ErrorKind, stored};

/// The directory of such copies, in the directory of the program's state.
const DIRECTORY: &str = "run";
/// The most copies that are kept; the oldest go first.
const MAX_COPIES: usize = 64;
/// Tells apart what this process writes at the same time.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Returns the directory with a copy of `entry`, whose files are those of `bundle` to the byte.
///
/// It is named by the digest of the bundle, so that one copy serves all who run the same. Fails with
/// [`ErrorKind::SkillChanged`] where the skill is no longer that.
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
    let is_there =
        blocking::unblock(move || place.is_dir() && (is_verified || is_copy(&place, &files))).await;
    if !is_there {
        let mut contents = Vec::with_capacity(bundle.files().len());
        for file in bundle.files() {
            let content = registry.read(entry, &file.path, LineRange::default()).await?;
            if Digest::of(&content.bytes) != file.digest {
                return Err(Error::new(ErrorKind::SkillChanged).about(entry.name().as_str()));
            }
            contents.push((file.clone(), content.bytes));
        }
        let (place, about) = (path.clone(), path.clone());
        blocking::unblock(move || write(&parent, &place, &contents))
            .await
            .map_err(|error| Error::new(ErrorKind::Io).at(about).because(error))?;
    }
    executor.verified.lock().unwrap_or_else(PoisonError::into_inner).insert(digest);
    Ok(path)
}

/// Returns whether the files at `path` are those of `bundle`.
fn is_copy(path: &Path, bundle: &Bundle) -> bool {
    let is_same = |file: &BundleFile| {
        let limit = usize::try_from(file.size).unwrap_or(usize::MAX - 1);
        stored::read(&path.join(file.path.as_str()), limit)
            .is_some_and(|bytes| Digest::of(&bytes) == file.digest)
    };
    bundle.files().iter().all(is_same)
}

/// Writes `contents` to the directory `path` of `parent`, whole or not at all.
fn write(parent: &Path, path: &Path, contents: &[(BundleFile, Vec<u8>)]) -> io::Result<()> {
    fs::create_dir_all(parent)?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = parent.join(format!(".{}-{number}.tmp", std::process::id()));
    let written = (|| {
        for (file, bytes) in contents {
            let place = temporary.join(file.path.as_str());
            fs::create_dir_all(place.parent().unwrap_or(&temporary))?;
            File::options().write(true).create_new(true).open(&place)?.write_all(bytes)?;
            close(&place, if file.executable { 0o555 } else { 0o444 })?;
        }
        close_directories(&temporary)?;
        // What lies there and is no copy is of no use to anybody.
        remove(path);
        fs::rename(&temporary, path)
    })();
    if let Err(error) = written {
        remove(&temporary);
        // Somebody else was quicker.
        return if path.is_dir() { Ok(()) } else { Err(error) };
    }
    prune(parent);
    Ok(())
}

/// Lets nobody write to what lies at `path`.
fn close(path: &Path, mode: u32) -> io::Result<()> {
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

/// Lets nobody write to the directories below `path`, nor to itself: renaming it needs no more than its parent.
fn close_directories(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            close_directories(&entry.path())?;
            close(&entry.path(), 0o555)?;
        }
    }
    Ok(())
}

/// Removes the directory at `path`, read-only ones below it included, as far as that goes.
fn remove(path: &Path) {
    fn open(path: &Path) {
        #[cfg(unix)]
        let _ = close(path, 0o755);
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open(&entry.path());
            }
        }
    }
    open(path);
    let _ = fs::remove_dir_all(path);
}

/// Removes the oldest copies, so that [`MAX_COPIES`] stay.
fn prune(parent: &Path) {
    let mut copies: Vec<(std::time::SystemTime, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| !name.starts_with('.')))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    copies.sort_unstable();
    let surplus = copies.len().saturating_sub(MAX_COPIES);
    copies.into_iter().take(surplus).for_each(|(_, path)| remove(&path));
}
