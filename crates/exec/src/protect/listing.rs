//! The listing of one directory, within a budget of entries and time.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::git::settings_paths;
use crate::protect::names;

/// The number of entries between two checks of the time.
const CLOCK_INTERVAL: usize = 256;

/// The remaining entries and time of a search.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
    until: Instant,
}

/// The reason why a directory was not listed.
#[derive(Debug)]
pub(crate) enum ListingError {
    /// It does not exist any more.
    Gone,
    /// Permissions forbid to list it or to examine its entries.
    Denied,
    /// The budget is spent.
    Spent,
    /// Another error, such as a path that is too long.
    Failed,
}

impl Budget {
    pub(crate) fn new(entries: usize, until: Instant) -> Self {
        Self { left: entries, until }
    }

    /// Takes one entry from the budget; returns whether one was left.
    pub(crate) fn take(&mut self) -> bool {
        let is_late = self.left.is_multiple_of(CLOCK_INTERVAL) && Instant::now() >= self.until;
        if is_late || self.left == 0 {
            self.left = 0;
            return false;
        }
        self.left -= 1;
        true
    }
}

/// The subdirectories of a directory, and its entries that are protected by their name.
#[derive(Debug)]
pub(crate) struct ProtectedListing {
    directory: PathBuf,
    pub(crate) entries: Vec<ListedEntry>,
    /// `true` if it has a `SKILL.md`.
    pub(crate) is_skill: bool,
    /// `true` if git might take it for a git directory, by its content.
    pub(crate) is_git: bool,
    /// The name of its `HEAD`, as it is spelled.
    pub(crate) head: Option<OsString>,
}

#[derive(Debug)]
pub(crate) struct ListedEntry {
    pub(crate) name: OsString,
    pub(crate) metadata: Metadata,
    pub(crate) is_protected: bool,
}

impl ProtectedListing {
    pub(crate) fn of(directory: &Path, budget: &mut Budget) -> Result<Self, ListingError> {
        // The directory itself counts too, even if it is empty.
        if !budget.take() {
            return Err(ListingError::Spent);
        }
        let (mut entries, mut parts, mut is_skill, mut head) =
            (Vec::new(), settings_paths::GitDirParts::default(), false, None);
        for entry in fs::read_dir(directory).map_err(|error| unlisted(&error))? {
            let entry = entry.map_err(|error| unlisted(&error))?;
            if !budget.take() {
                return Err(ListingError::Spent);
            }
            // Relative to the open directory, not by its path.
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unlisted(&error)),
            };
            let name = entry.file_name();
            parts.note(&name);
            is_skill |= names::is_named(&name, "SKILL.md");
            if names::is_named(&name, settings_paths::HEAD) {
                head = Some(name.clone());
            }
            let is_protected = is_protected(directory, &name, &metadata);
            // Plain files are left out: a command may have created millions.
            if is_protected || metadata.is_dir() {
                entries.push(ListedEntry { name, metadata, is_protected });
            }
        }
        Ok(Self {
            directory: directory.to_owned(),
            entries,
            is_skill,
            is_git: parts.may_be_directory(),
            head,
        })
    }

    pub(crate) fn path(&self, name: &OsStr) -> PathBuf {
        self.directory.join(name)
    }
}

fn is_protected(directory: &Path, name: &OsStr, metadata: &Metadata) -> bool {
    let is_special = !metadata.is_file() && !metadata.is_dir() && !metadata.is_symlink();
    names::is_protected_in(directory.file_name(), name)
        // Git would block on a pipe forever.
        || is_special && names::is_read_by_git(name)
}

fn unlisted(error: &io::Error) -> ListingError {
    match error.kind() {
        io::ErrorKind::NotFound => ListingError::Gone,
        io::ErrorKind::PermissionDenied => ListingError::Denied,
        _ => ListingError::Failed,
    }
}
