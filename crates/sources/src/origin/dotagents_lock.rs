//! `agents.lock`, which Sentry's dotagents writes.

use std::path::Path;

use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{LockFormat, LockedPlace, LockedSkill, skills_by_name, text};
use super::record::Origin;

/// The name of the file.
pub(super) const FILE: &str = "agents.lock";

/// The format of the file.
pub(super) const FORMAT: LockFormat = LockFormat::Toml;

/// Returns the skills that `document`, the file at `path`, names.
pub(super) fn skills(path: &Path, document: &Value) -> Vec<LockedSkill> {
    let skill = |(name, entry): (&String, &Value)| {
        let mut origin = Origin::new(Installer::Dotagents, path.to_owned(), name);
        origin.source = text(entry, "source").or_else(|| text(entry, "resolved_url"));
        origin.path = text(entry, "resolved_path");
        origin.reference = text(entry, "resolved_ref");
        origin.commit = text(entry, "resolved_commit").or_else(|| text(entry, "commit"));
        LockedSkill { place: LockedPlace::Named(origin.name.clone()), origin }
    };
    skills_by_name(document, "skills").map(skill).collect()
}
