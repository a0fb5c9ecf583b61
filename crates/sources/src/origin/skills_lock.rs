//! `skills-lock.json`, which `npx skills` writes into a project.

use std::path::Path;

use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{LockFormat, LockedPlace, LockedSkill, skills_by_name, text};
use super::record::{Expectation, Origin};

/// The name of the file.
pub(super) const FILE: &str = "skills-lock.json";

/// The format of the file.
pub(super) const FORMAT: LockFormat = LockFormat::Json;

/// Returns the skills that `document`, the file at `path`, names.
pub(super) fn skills(path: &Path, document: &Value) -> Vec<LockedSkill> {
    skills_by_name(document, "skills").map(|(name, entry)| skill(path, name, entry, "computedHash")).collect()
}

/// Returns the skill of an entry, whose hash is under `hash_key`.
pub(super) fn skill(path: &Path, name: &str, entry: &Value, hash_key: &str) -> LockedSkill {
    let mut origin = Origin::new(Installer::Skills, path.to_owned(), name);
    origin.source = text(entry, "source").or_else(|| text(entry, "sourceUrl"));
    origin.reference = text(entry, "ref");
    origin.installed_at = text(entry, "updatedAt").or_else(|| text(entry, "installedAt"));
    origin.path = text(entry, "skillPath").map(|path| {
        let directory = path.strip_suffix("SKILL.md").unwrap_or(&path);
        directory.trim_end_matches('/').to_owned()
    });
    if let Some(hash) = text(entry, hash_key).filter(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        match hash.len() {
            64 => origin.expectation = Expectation::FolderHash(hash),
            40 => origin.expectation = Expectation::GitTree(hash),
            _ => {}
        }
    }
    LockedSkill { place: LockedPlace::Named(origin.name.clone()), origin }
}
