//! `.openskills.json`, which openskills writes into a skill.

use std::path::Path;

use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{self, LockFormat, text};
use super::record::Origin;

/// The name of the file.
const FILE: &str = ".openskills.json";

/// Returns the origin that the file in `directory` tells of the skill `name`.
pub(super) fn origin(directory: &Path, name: &str) -> Option<Origin> {
    let path = directory.join(FILE);
    let document: Value = lock_file::read(&path, LockFormat::Json)?.ok()?;
    let mut origin = Origin::new(Installer::OpenSkills, path, name);
    origin.source = text(&document, "repoUrl")
        .or_else(|| text(&document, "source"))
        .or_else(|| text(&document, "localPath"));
    origin.path = text(&document, "subpath");
    origin.installed_at = text(&document, "installedAt");
    Some(origin)
}
