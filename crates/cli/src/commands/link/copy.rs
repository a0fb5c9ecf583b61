//! Copies skills where links cannot be made, and removes copies that nobody changed.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use repertoire::Entry;
use repertoire_model::LineRange;

use super::paths;
use crate::error::CliError;
use crate::wire::{Context, Library, Place, Reason};

/// Copies the files of `entry` to `path`, where nothing is yet, and returns their digest.
pub(super) fn copy(library: &Library, entry: &Entry, path: &Path) -> Result<String, CliError> {
    let digest = pollster::block_on(library.registry.bundle(entry))?.digest().to_string();
    let listing = pollster::block_on(library.registry.files(entry))?;
    let failed = |error| CliError::io("write", path, error);
    fs::create_dir(path).map_err(failed)?;
    for file in &listing.files {
        let content = pollster::block_on(library.registry.read(entry, &file.path, LineRange::default()))?;
        let target = path.join(file.path.as_str());
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut written =
            fs::OpenOptions::new().write(true).create_new(true).open(&target).map_err(failed)?;
        written.write_all(&content.bytes).map_err(failed)?;
        if file.executable {
            make_executable(&target).map_err(failed)?;
        }
    }
    Ok(digest)
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

/// The library that is nothing but the directory a copy lies in.
fn around(context: &Context, path: &Path) -> Library {
    let parent = path.parent().unwrap_or(path);
    let place = Place::at("copies".to_owned(), parent.to_owned(), Reason::Given);
    context.inspect_places(vec![place], Vec::new(), context.settings.policy.clone())
}

fn find<'l>(library: &'l Library, path: &Path) -> Option<&'l Entry> {
    let real = paths::resolved(path);
    library.snapshot.entries().iter().find(|entry| paths::of(entry) == real)
}

/// Returns whether the skill at `path` is still the one with `digest`.
pub(super) fn is_unchanged(context: &Context, path: &Path, digest: &str) -> bool {
    let library = around(context, path);
    let bundle = find(&library, path).map(|entry| pollster::block_on(library.registry.bundle(entry)));
    matches!(bundle, Some(Ok(bundle)) if bundle.digest().to_string() == digest)
}

/// Removes the files of the skill at `path`, and the directories that are empty then. What was added beside them stays.
pub(super) fn remove(context: &Context, path: &Path) -> Result<(), CliError> {
    let library = around(context, path);
    let Some(entry) = find(&library, path) else { return Ok(()) };
    let listing = pollster::block_on(library.registry.files(entry))?;
    let failed = |error| CliError::io("remove", path, error);
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
