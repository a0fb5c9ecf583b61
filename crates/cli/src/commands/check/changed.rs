//! `--changed`: the skills with changed files, and the skills that depend on them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire::config::FILE_NAME;
use repertoire_sources::changed_files;

use super::target::Target;
use crate::error::CliError;
use crate::wire::Workspace;

/// Limits `targets` to the skills with files that differ from the commit `base`, and to the skills that
/// require one of them or share its name.
pub(super) fn limit(workspace: &Workspace, targets: &mut [Target], base: &str) -> Result<(), CliError> {
    let files = changed_files(workspace.env.working_directory(), base)?;
    // The configuration can change the findings of every skill.
    if files.iter().any(|file| file.ends_with(FILE_NAME)) {
        return Ok(());
    }
    let directories: BTreeSet<&Path> = files.iter().flat_map(|file| file.ancestors().skip(1)).collect();
    for target in targets {
        let is_changed = |entry: &&Entry| {
            let path = PathBuf::from(&*entry.path);
            directories.contains(&*path.canonicalize().unwrap_or(path))
        };
        let changed: Vec<&Entry> = target.entries().filter(is_changed).collect();
        let mut paths: BTreeSet<String> = changed.iter().map(|entry| entry.path.to_string()).collect();
        let mut names: BTreeSet<String> = changed.iter().map(|entry| entry.name().to_string()).collect();
        // A skill that was removed is known by its directory.
        let is_manifest = |file: &&PathBuf| {
            file.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
                && file.symlink_metadata().is_err()
        };
        let removed = files.iter().filter(is_manifest).filter_map(|file| file.parent()?.file_name());
        names.extend(removed.map(|name| name.to_string_lossy().into_owned()));
        loop {
            let depends = |entry: &&Entry| {
                let requires = &entry.document.manifest.requires;
                !paths.contains(&*entry.path)
                    && (names.contains(entry.name().as_str())
                        || requires
                            .iter()
                            .any(|required| names.contains(required.rsplit(':').next().unwrap_or(required))))
            };
            let more: Vec<&Entry> = target.entries().filter(depends).collect();
            if more.is_empty() {
                break;
            }
            paths.extend(more.iter().map(|entry| entry.path.to_string()));
            names.extend(more.iter().map(|entry| entry.name().to_string()));
        }
        target.paths = Some(paths);
    }
    Ok(())
}
