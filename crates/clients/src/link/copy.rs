//! Copies skills where links cannot be made, and removes unchanged copies.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use repertoire::{Entry, Registry, Snapshot};
use repertoire_model::{Bundle, BundleFile, Digest, FileEntry, LineRange};

use crate::Error;
use crate::paths;

/// Copies the files of `entry` to `path`, where nothing is yet, and returns the digest of what was written.
///
/// The copy is there as a whole or not at all: it is written beside, under a name that no skill has.
pub(super) fn copy(registry: &Registry, entry: &Entry, path: &Path) -> Result<String, Error> {
    let failed = |error| Error::io("write", path, error);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    fs::create_dir(&temporary).map_err(failed)?;
    let outcome = write(registry, entry, &temporary).and_then(|bundle| {
        // An empty directory would give way to the new one without a word.
        match fs::symlink_metadata(path) {
            Ok(_) => Err(failed(io::ErrorKind::AlreadyExists.into())),
            Err(_) => fs::rename(&temporary, path).map(|()| bundle.digest().to_string()).map_err(failed),
        }
    });
    if outcome.is_err() {
        // Half a copy is of no use to anyone; that it cannot be removed is not worth a second error.
        let _ = fs::remove_dir_all(&temporary);
    }
    outcome
}

/// Writes the files of `entry` into the directory `directory`, and returns what was written.
fn write(registry: &Registry, entry: &Entry, directory: &Path) -> Result<Bundle, Error> {
    let listing = pollster::block_on(registry.files(entry))?;
    let mut written = Vec::new();
    for FileEntry { path, executable, .. } in listing.files {
        let bytes = pollster::block_on(registry.read(entry, &path, LineRange::default()))?.bytes;
        let target = directory.join(path.as_str());
        write_file(&target, &bytes, executable).map_err(|error| Error::io("write", &target, error))?;
        written.push(BundleFile { size: bytes.len() as u64, digest: Digest::of(&bytes), path, executable });
    }
    Ok(Bundle::new(written))
}

fn write_file(path: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    if executable { make_executable(path) } else { Ok(()) }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_mode(permissions.mode() | 0o111);
    fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Reads the skills in a directory, as the configuration says.
pub type DirectoryReader<'a> = &'a dyn Fn(&Path) -> Registry;

/// Returns the skills in the directory that the copy at `path` lies in.
fn around(read: DirectoryReader<'_>, path: &Path) -> Registry {
    read(path.parent().unwrap_or(path))
}

fn find<'l>(snapshot: &'l Snapshot, path: &Path) -> Option<&'l Entry> {
    let real = paths::resolved(path);
    snapshot.entries().iter().find(|entry| paths::of(entry) == real)
}

/// Returns whether the skill at `path` is still the one with `digest`.
pub(super) fn is_unchanged(read: DirectoryReader<'_>, path: &Path, digest: &str) -> bool {
    let registry = around(read, path);
    let snapshot = registry.snapshot();
    let bundle = find(&snapshot, path).map(|entry| pollster::block_on(registry.bundle(entry)));
    matches!(bundle, Some(Ok(bundle)) if bundle.digest().to_string() == digest)
}

/// Removes the files of the skill at `path`, and the directories that are empty then. What was added beside them stays.
pub(super) fn remove(read: DirectoryReader<'_>, path: &Path) -> Result<(), Error> {
    let registry = around(read, path);
    let snapshot = registry.snapshot();
    let Some(entry) = find(&snapshot, path) else { return Ok(()) };
    let listing = pollster::block_on(registry.files(entry))?;
    let failed = |error| Error::io("remove", path, error);
    for file in &listing.files {
        let target = path.join(file.path.as_str());
        fs::remove_file(&target).map_err(failed)?;
        for above in target.ancestors().skip(1).take_while(|above| above.starts_with(path)) {
            // A directory that holds more is not empty, which is no failure.
            if fs::remove_dir(above).is_err() {
                break;
            }
        }
    }
    Ok(())
}
