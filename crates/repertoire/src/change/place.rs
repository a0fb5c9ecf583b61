//! The place of a change.

use std::path::PathBuf;

/// The place of a change: a project, or the home directory of a user.
#[derive(Debug, Clone)]
pub struct ChangePlace {
    /// Its root, for messages.
    pub base: PathBuf,
    /// The directory of the skills.
    pub skills: PathBuf,
    /// The path of the journal, without an ending; it is the same for all processes that change the place.
    /// The directory holds the journals of all places that share a store.
    pub journal: PathBuf,
}

impl ChangePlace {
    /// Returns the name of the journal, which tells the place from others.
    pub fn name(&self) -> String {
        self.journal.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the path of a file beside the journal.
    pub(super) fn file(&self, ending: &str) -> PathBuf {
        self.journal.with_extension(ending)
    }
}
