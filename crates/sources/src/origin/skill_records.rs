//! The records that installers write into a skill.

use std::path::Path;

use repertoire_model::Manifest;
use serde_json::Value;

use super::installer::Installer;
use super::lock_file::{self, LockFormat, text};
use super::record::{Expectation, Origin, bounded};

/// Returns the origins that the files of the skill `name` in `directory` tell.
pub(super) fn origins(directory: &Path, name: &str, manifest: &Manifest) -> impl Iterator<Item = Origin> {
    let found =
        [of_gh(directory, name, manifest), of_openskills(directory, name), of_clawhub(directory, name)];
    found.into_iter().flatten()
}

/// Reads the `metadata` that `gh skill` writes into the frontmatter.
fn of_gh(directory: &Path, name: &str, manifest: &Manifest) -> Option<Origin> {
    let value = |key: &str| {
        let (_, value) = manifest.metadata.iter().find(|(own, _)| own == key)?;
        Some(bounded(value)).filter(|value| !value.is_empty())
    };
    let repository = value("github-repo")?;
    let mut origin = Origin::new(Installer::Gh, directory.join("SKILL.md"), name);
    // The first versions wrote the owner by itself.
    origin.source = Some(match value("github-owner") {
        Some(owner) if !repository.contains('/') => format!("{owner}/{repository}"),
        _ => repository,
    });
    origin.path = value("github-path");
    origin.reference = value("github-pinned").or_else(|| value("github-ref"));
    origin.commit = value("github-sha");
    origin.version = value("github-tree-sha").map(|tree| format!("tree {tree}"));
    origin.expectation = Expectation::Unknown(
        "the recorded git tree is that of the source, before gh wrote into its frontmatter",
    );
    Some(origin)
}

/// Reads the file of openskills.
fn of_openskills(directory: &Path, name: &str) -> Option<Origin> {
    let path = directory.join(".openskills.json");
    let document: Value = lock_file::read(&path, LockFormat::Json)?.ok()?;
    let mut origin = Origin::new(Installer::OpenSkills, path, name);
    origin.source = text(&document, "repoUrl")
        .or_else(|| text(&document, "source"))
        .or_else(|| text(&document, "localPath"));
    origin.path = text(&document, "subpath");
    origin.installed_at = text(&document, "installedAt");
    Some(origin)
}

/// Reads the file of ClawHub; the older versions had another directory.
fn of_clawhub(directory: &Path, name: &str) -> Option<Origin> {
    let mut paths = [".clawhub", ".clawdhub"].iter().map(|own| directory.join(own).join("origin.json"));
    let (path, document) =
        paths.find_map(|path| Some((path.clone(), lock_file::read(&path, LockFormat::Json)?.ok()?)))?;
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
