//! Descriptions of a skill's files, read from the files.

use std::collections::BTreeMap;

use repertoire_model::{FileEntry, FileKind, LineRange, file_description};

use super::open::Registry;
use super::snapshot::Entry;

/// The most files of a listing that are described.
const MAX_DESCRIBED: usize = 50;

/// The largest file that is read for its description, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

impl Registry {
    /// Returns the descriptions of `files`, by path: the first heading or comment of each, where that says more than its name.
    ///
    /// Only the first few files are read, and none that is large.
    pub async fn describe_files(&self, entry: &Entry, files: &[&FileEntry]) -> BTreeMap<String, String> {
        let is_described = |file: &&&FileEntry| {
            file.kind != FileKind::Manifest
                && file.size <= MAX_BYTES
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
