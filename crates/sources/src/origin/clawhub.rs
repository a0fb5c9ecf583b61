//! `.clawhub/origin.json`, which ClawHub writes into a skill.

use std::path::Path;

use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{self, LockFormat, text};
use super::record::{Expectation, Origin};

/// The directories that the file lies in, newest first.
const DIRECTORIES: [&str; 2] = [".clawhub", ".clawdhub"];

/// Returns the origin that the file in `directory` tells of the skill `name`.
pub(super) fn origin(directory: &Path, name: &str) -> Option<Origin> {
    let mut paths = DIRECTORIES.iter().map(|own| directory.join(own).join("origin.json"));
    let (path, document) =
        paths.find_map(|path| Some((path.clone(), lock_file::read(&path, LockFormat::Json)?.ok()?)))?;
    let document: Value = document;
    let mut origin = Origin::new(Installer::ClawHub, path, name);
    let registry = text(&document, "registry")?;
    let slug = text(&document, "slug")?;
    origin.source = Some(format!("{}/{slug}", registry.trim_end_matches('/')));
    origin.version = text(&document, "installedVersion");
    origin.installed_at = text(&document, "installedAt");
    if let Some(fingerprint) = text(&document, "fingerprint") {
        origin.expectation = Expectation::Fingerprint(fingerprint);
    }
    Some(origin)
}
