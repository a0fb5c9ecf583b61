//! The files that a skill is reported to have.

use std::collections::BTreeSet;

use repertoire_model::policy::ResourceListing;
use repertoire_model::{FileEntry, FileKind, Manifest, Policy};

use super::{Entry, Registry};
use crate::Error;

/// The files that a skill is reported to have, by kind, each relative to the directory of its kind.
///
/// The policy decides whether these are the files on disk, the files that the frontmatter declares, or both,
/// and how many of each are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resources {
    /// Those below `references/`.
    pub references: Vec<String>,
    /// Those below `scripts/`.
    pub scripts: Vec<String>,
    /// Those below `assets/`.
    pub assets: Vec<String>,
}

impl Resources {
    /// Returns the files that a skill with this frontmatter and these files is reported to have under
    /// `policy`.
    pub fn of(manifest: &Manifest, files: &[FileEntry], policy: &Policy) -> Self {
        let told = |kind, declared: &[String]| told(kind, declared, files, policy);
        Self {
            references: told(FileKind::Reference, &manifest.references),
            scripts: told(FileKind::Script, &manifest.scripts),
            assets: told(FileKind::Asset, &manifest.assets),
        }
    }
}

fn told(kind: FileKind, declared: &[String], files: &[FileEntry], policy: &Policy) -> Vec<String> {
    let directory = format!("{}/", kind.directory().unwrap_or_default());
    // A declared path may include its directory or not.
    let name = |path| str::strip_prefix(path, directory.as_str()).unwrap_or(path);
    let found = files.iter().filter(|file| file.kind == kind).map(|file| name(file.path.as_str()));
    let declared = declared.iter().map(|path| name(path.as_str()));
    let told: BTreeSet<&str> = match policy.resource_listing {
        ResourceListing::Walk => found.collect(),
        ResourceListing::Declared => declared.collect(),
        ResourceListing::Both => found.chain(declared).collect(),
    };
    told.into_iter().take(policy.max_listed).map(str::to_owned).collect()
}

impl Registry {
    /// Returns the files that the skill is reported to have under the policy in force.
    pub async fn resources(&self, entry: &Entry) -> Result<Resources, Error> {
        let listing = self.files(entry).await?;
        Ok(Resources::of(&entry.document.manifest, &listing.files, self.policy()))
    }
}
