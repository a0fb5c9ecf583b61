//! `apm.lock.yaml`, which APM writes: packages, each with the files that it deployed and their hashes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{LockFormat, LockedPlace, LockedSkill, items, text};
use super::record::{Expectation, Origin, bounded};

/// The name of the file.
pub(super) const FILE: &str = "apm.lock.yaml";

/// The format of the file.
pub(super) const FORMAT: LockFormat = LockFormat::Yaml;

/// The file that makes a directory a skill.
const MANIFEST: &str = "SKILL.md";

/// Returns the skills that `document`, the file at `path`, names; paths in it count from `base`.
pub(super) fn skills(path: &Path, base: &Path, document: &Value) -> Vec<LockedSkill> {
    items(document, "dependencies").flat_map(|package| of_package(path, base, package)).collect()
}

fn of_package(path: &Path, base: &Path, package: &Value) -> Vec<LockedSkill> {
    let hashes: BTreeMap<String, String> = package
        .get("deployed_file_hashes")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(file, hash)| Some((file.clone(), hash.as_str()?.to_owned())))
        .collect();
    let listed = items(package, "deployed_files").filter_map(Value::as_str);
    // A directory is listed with a slash at its end, or by its files.
    let mut directories: Vec<&str> = listed
        .chain(hashes.keys().map(String::as_str))
        .filter_map(|file| match file.strip_suffix('/') {
            Some(directory) => directory.contains("/skills/").then_some(directory),
            None => file.strip_suffix(MANIFEST)?.strip_suffix('/'),
        })
        .filter(|directory| is_inside(directory))
        .collect();
    directories.sort_unstable();
    directories.dedup();
    let skill = |directory: &str| {
        let name = directory.rsplit('/').next().unwrap_or(directory);
        let mut origin = Origin::new(Installer::Apm, path.to_owned(), name);
        origin.source = text(package, "repo_url").or_else(|| text(package, "local_path"));
        origin.path = text(package, "virtual_path");
        origin.reference = text(package, "resolved_ref");
        origin.commit = text(package, "resolved_commit");
        origin.version = text(package, "version");
        let prefix = format!("{directory}/");
        let own: BTreeMap<String, String> = hashes
            .iter()
            .filter_map(|(file, hash)| Some((bounded(file.strip_prefix(&prefix)?), bounded(hash))))
            .collect();
        if !own.is_empty() {
            origin.expectation = Expectation::FileHashes(own);
        }
        LockedSkill { origin, place: LockedPlace::At(base.join(directory)) }
    };
    directories.into_iter().map(skill).collect()
}

/// Returns `true` if `path` leads nowhere but down.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !part.is_empty() && part != "..") && !path.contains('\\')
}
