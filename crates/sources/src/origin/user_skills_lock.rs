//! `.skill-lock.json`, which `npx skills` keeps for the skills of a user.

use std::path::Path;

use serde_json::Value;

use super::lock_file::{LockFormat, LockedSkill, skills_by_name};
use super::skills_lock;

/// The name of the file, below the directory of state or below `.agents` of the home.
pub(super) const FILE: &str = ".skill-lock.json";

/// The format of the file.
pub(super) const FORMAT: LockFormat = LockFormat::Json;

/// Returns the skills that `document`, the file at `path`, names.
pub(super) fn skills(path: &Path, document: &Value) -> Vec<LockedSkill> {
    let entries = skills_by_name(document, "skills");
    entries.map(|(name, entry)| skills_lock::skill(path, name, entry, "skillFolderHash")).collect()
}
