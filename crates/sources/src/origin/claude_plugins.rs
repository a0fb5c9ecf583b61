//! `installed_plugins.json`, in which Claude Code records the plugins that it installed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{LockFormat, LockedPlace, LockedSkill, skills_by_name, text};
use super::record::Origin;

/// The name of the file, below `plugins` of the client's directory.
pub(super) const FILE: &str = "installed_plugins.json";

/// The format of the file.
pub(super) const FORMAT: LockFormat = LockFormat::Json;

/// Returns the plugins that `document`, the file at `path`, names; all skills below the directory of one have its origin.
pub(super) fn plugins(path: &Path, document: &Value) -> Vec<LockedSkill> {
    let mut found = Vec::new();
    for (name, entry) in skills_by_name(document, "plugins") {
        // The first version of the file has one entry, the second a list.
        let entries = entry.as_array().map_or_else(|| std::slice::from_ref(entry), Vec::as_slice);
        for entry in entries {
            let directory = text(entry, "installPath").map(PathBuf::from).filter(|path| path.is_absolute());
            let Some(directory) = directory else { continue };
            let mut origin = Origin::new(Installer::ClaudePlugin, path.to_owned(), name);
            origin.source = Some(origin.name.clone());
            origin.version = text(entry, "version");
            origin.commit = text(entry, "gitCommitSha");
            origin.installed_at = text(entry, "lastUpdated").or_else(|| text(entry, "installedAt"));
            found.push(LockedSkill { origin, place: LockedPlace::Below(directory) });
        }
    }
    found
}
