//! The files that a skill is reported to have.

use std::collections::{BTreeMap, BTreeSet};

use repertoire_model::answer::AvailableFiles;
use repertoire_model::policy::ResourceListing;
use repertoire_model::{FileEntry, FileKind, LineRange, Manifest, Policy, file_description};

use super::open::Registry;
use super::snapshot::Entry;
use crate::Error;

/// Returns the files that a skill with this frontmatter and these files is reported to have under `policy`.
///
/// The policy decides whether these are the files on disk, the files that the frontmatter declares, or both,
/// and how many of each are listed.
pub fn available_files(manifest: &Manifest, files: &[FileEntry], policy: &Policy) -> AvailableFiles {
    let told = |kind, declared: &[String]| told(kind, declared, files, policy);
    AvailableFiles {
        references: told(FileKind::Reference, &manifest.references),
        scripts: told(FileKind::Script, &manifest.scripts),
        assets: told(FileKind::Asset, &manifest.assets),
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
    pub async fn resources(&self, entry: &Entry) -> Result<AvailableFiles, Error> {
        let listing = self.files(entry).await?;
        Ok(available_files(&entry.document.manifest, &listing.files, self.policy()))
    }
}

/// The most files of a listing that are described.
const MAX_DESCRIBED: usize = 50;

/// The largest file that is read for its description, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

impl Registry {
    /// Returns the first heading or comment of each of `files`, by path, if it says more than the name.
    ///
    /// Only the first few files are read, and none that is large.
    pub async fn describe_files(&self, entry: &Entry, files: &[&FileEntry]) -> BTreeMap<String, String> {
        let is_described = |file: &&&FileEntry| {
            file.kind != FileKind::Manifest
                && file.size.is_some_and(|size| size <= MAX_BYTES)
                && file_description::is_describable(file.path.as_str())
        };
        let mut descriptions = BTreeMap::new();
        for file in files.iter().filter(is_described).take(MAX_DESCRIBED) {
            let content = self.read(entry, &file.path, LineRange::default()).await.ok();
            let text = content.as_ref().and_then(|content| content.text());
            let description = text.and_then(|text| file_description::describe(file.path.as_str(), text));
            descriptions.extend(description.map(|description| (file.path.to_string(), description)));
        }
        descriptions
    }
}
