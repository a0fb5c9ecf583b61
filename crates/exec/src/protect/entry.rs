//! Types that the search before a run and the one after it share.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::GitUser;
use crate::verified_path::VerifiedPath;

/// Paths that are never granted, beside protected names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExcludedPaths<'a> {
    /// Paths that the host protects: the skill, its settings, its state.
    pub(crate) own: &'a [PathBuf],
    /// The user's git settings.
    pub(crate) git: &'a GitUser,
}

/// A protected file or directory that existed before the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProtectedEntry {
    pub(crate) pinned: VerifiedPath,
    pub(crate) is_link: bool,
    pub(super) is_directory: bool,
    /// Its time of birth, where the file system has one: another file may get its inode.
    born: Option<SystemTime>,
    /// The change time of a symbolic link, because another link may get its inode.
    changed: Option<(i64, i64)>,
}

impl ProtectedEntry {
    /// Returns whether this is the same file or directory, wherever it is now. A symbolic link is not:
    /// elsewhere it may lead to another file.
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        let numbers = |entry: &Self| (entry.pinned.device, entry.pinned.inode);
        // Without a time of birth only a directory is known by its inode: it exists until the end of the run.
        let is_known = self.born.is_some() || self.is_directory && other.is_directory;
        is_known && !self.is_link && numbers(self) == numbers(other) && self.born == other.born
    }

    pub(super) fn of(path: &Path, metadata: &fs::Metadata) -> Self {
        let is_link = metadata.is_symlink();
        Self {
            pinned: VerifiedPath::of(path, metadata),
            is_link,
            is_directory: metadata.is_dir(),
            born: metadata.created().ok(),
            changed: is_link.then_some((metadata.ctime(), metadata.ctime_nsec())),
        }
    }
}
