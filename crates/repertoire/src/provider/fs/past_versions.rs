//! Recorded versions of skills, for skills that are broken on disk.

use std::fmt;
use std::sync::Arc;

/// A recorded `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastManifest {
    /// The spelling of the file's name.
    pub file_name: String,
    /// Its text.
    pub text: String,
}

/// Finds the recorded texts of a skill by the path of its directory, the newest first.
///
/// It is asked only for skills that are broken on disk and were not read by this process before.
#[derive(Clone)]
pub struct PastVersions(Arc<Find>);

/// Returns the recorded texts of the skill in a directory.
type Find = dyn Fn(&str) -> Vec<PastManifest> + Send + Sync;

impl PastVersions {
    /// Returns the recorded versions that `find` finds.
    pub fn new(find: impl Fn(&str) -> Vec<PastManifest> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    /// Returns the texts of the skill in `directory`, the newest first.
    pub(super) fn find(&self, directory: &str) -> Vec<PastManifest> {
        (self.0)(directory)
    }
}

impl fmt::Debug for PastVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PastVersions")
    }
}
