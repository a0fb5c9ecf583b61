//! The texts of approved files, so that a person can be shown what has changed since.

use std::collections::BTreeMap;

use repertoire_model::Digest;
use serde_json::Value;

use super::record::Approval;
use super::store::Approvals;
use repertoire::change::{FileKind, remove_oldest, replace_file};
use repertoire::{Error, regular_file};

/// The directory of the texts, in the directory of approvals. It has one file per digest of a bundle.
const DIRECTORY: &str = "approved";
const ENDING: &str = ".json";
/// The most that is stored of one skill, in bytes; files that do not fit are left out.
pub const MAX_KEPT_BYTES: usize = 1 << 20;
/// The largest file of texts: JSON may escape one byte as six.
const MAX_FILE_BYTES: u64 = 8 * MAX_KEPT_BYTES as u64;
/// The most skills whose texts are stored; those approved longest ago are removed first.
const MAX_KEPT: usize = 256;

impl Approvals {
    /// Stores the texts of the files of `approval`, by path: the smallest, up to [`MAX_KEPT_BYTES`] in all.
    pub fn keep_texts(&self, approval: &Approval, texts: &BTreeMap<String, String>) -> Result<(), Error> {
        let mut by_size: Vec<(&String, &String)> = texts.iter().collect();
        by_size.sort_by_key(|(_, text)| text.len());
        let mut left = MAX_KEPT_BYTES;
        let fits = |(path, text): (&String, &String)| {
            left = left.checked_sub(path.len() + text.len())?;
            Some((path.clone(), Value::from(text.as_str())))
        };
        let kept: serde_json::Map<String, Value> = by_size.into_iter().map_while(fits).collect();
        let directory = self.as_ref().join(DIRECTORY);
        let path = directory.join(format!("{}{ENDING}", approval.digest.to_hex()));
        replace_file(&path, FileKind::Cache, Some(Value::Object(kept).to_string().as_bytes()))?;
        remove_oldest(&directory, ENDING, MAX_KEPT);
        Ok(())
    }

    /// Returns the stored texts of `approval`, by path. Texts without the approved digest are left out.
    pub fn texts(&self, approval: &Approval) -> BTreeMap<String, String> {
        let path = self.as_ref().join(DIRECTORY).join(format!("{}{ENDING}", approval.digest.to_hex()));
        let bytes = regular_file::read(&path, MAX_FILE_BYTES).unwrap_or_default();
        let Ok(Value::Object(kept)) = serde_json::from_slice(&bytes) else { return BTreeMap::new() };
        let texts = kept.into_iter().filter_map(|(path, text)| match text {
            Value::String(text) => Some((path, text)),
            _ => None,
        });
        texts.filter(|(path, text)| approval.files.get(path) == Some(&Digest::of(text.as_bytes()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_approved_texts_that_fit_are_returned() {
        let directory = tempfile::tempdir().unwrap();
        let approvals = Approvals::new(directory.path());
        let text = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let texts = BTreeMap::from([
            text("a", "one"),
            text("other", "not approved"),
            text("large", &"x".repeat(MAX_KEPT_BYTES)),
        ]);
        let digest = |(path, text): (&String, &String)| (path.clone(), Digest::of(text.as_bytes()));
        let mut approval = Approval {
            name: "a".to_owned(),
            directory: "/a".to_owned(),
            source: "test".to_owned(),
            digest: Digest::of(b"bundle"),
            capabilities: Default::default(),
            files: texts.iter().map(digest).collect(),
            executables: Default::default(),
            tools: Vec::new(),
            schema: None,
            seconds: 1,
        };
        assert!(approvals.texts(&approval).is_empty());
        approvals.keep_texts(&approval, &texts).unwrap();
        approval.files.remove("other");
        assert_eq!(approvals.texts(&approval), BTreeMap::from([text("a", "one")]));
    }
}
