//! `toolhive.lock.yaml`, which ToolHive writes.

use std::path::Path;

use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{LockFormat, LockedPlace, LockedSkill, items, text};
use super::record::{Expectation, Origin};

/// The name of the file.
pub(super) const FILE: &str = "toolhive.lock.yaml";

/// The format of the file.
pub(super) const FORMAT: LockFormat = LockFormat::Yaml;

/// Returns the skills that `document`, the file at `path`, names.
pub(super) fn skills(path: &Path, document: &Value) -> Vec<LockedSkill> {
    let skill = |entry: &Value| {
        let mut origin = Origin::new(Installer::ToolHive, path.to_owned(), &text(entry, "name")?);
        origin.source = text(entry, "source");
        origin.reference = text(entry, "resolvedReference");
        origin.version = text(entry, "version");
        // The digest is that of an OCI artefact, or the commit of a git repository.
        origin.commit = text(entry, "digest");
        if let Some(digest) = text(entry, "contentDigest") {
            origin.expectation = Expectation::ContentDigest(digest);
        }
        Some(LockedSkill { place: LockedPlace::Named(origin.name.clone()), origin })
    };
    items(document, "skills").filter_map(skill).collect()
}
