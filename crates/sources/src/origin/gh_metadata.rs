//! The `metadata` that `gh skill` writes into the frontmatter of a skill.

use std::path::Path;

use repertoire_model::Manifest;

use super::installer::Installer;
use super::record::{Expectation, Origin, bounded};

/// Returns the origin that the frontmatter of the skill `name` in `directory` tells.
pub(super) fn origin(directory: &Path, name: &str, manifest: &Manifest) -> Option<Origin> {
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
