//! A grant to write a directory, except protected files in it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::git::settings_paths;
use crate::protect::before::ProtectedPaths;
use crate::protect::entry::{ExcludedPaths, ProtectedEntry};
use crate::protect::names;
use crate::verified_path::{self, VerifiedPath};
use crate::{ExecError, ExecErrorKind};

/// Time limit of the search for protected names before a run.
const SURVEY_TIME: Duration = Duration::from_secs(20);

const PROTECTED: &str = "agents, shells, git or Repertoire itself obey it";
const LINK_TARGET: &str = "a symbolic link that agents, shells or git obey leads to it";
const ELSEWHERE: &str = "it is not in the granted directory";
const LINKED: &str = "its path contains a symbolic link";
const TOO_LARGE: &str = "it is too large to check; grant a smaller directory";
const UNSEEN: &str = "not all of it can be read; grant a smaller directory";

/// A file or directory that may be written, except protected files in it.
#[derive(Debug)]
pub(crate) struct WritableGrant {
    /// Its path, symbolic links resolved.
    pub(crate) pinned: VerifiedPath,
    pub(crate) protected: BTreeMap<PathBuf, ProtectedEntry>,
    /// Paths in it that are protected for another reason than their name, existing or not.
    pub(crate) also_protected: BTreeSet<PathBuf>,
    /// Its other directories, itself included.
    pub(super) directories: Vec<PathBuf>,
    /// The paths of protected entries by device and inode.
    by_inode: HashMap<(u64, u64), PathBuf>,
}

/// Returns the grant to write `path`, which must lie in `root`. `root` contains no symbolic links.
pub(crate) fn writable(
    path: &Path,
    root: &Path,
    never: ExcludedPaths<'_>,
) -> Result<WritableGrant, ExecError> {
    let refused = |text: &str| ExecError::new(ExecErrorKind::GrantRefused).at(path).saying(text);
    let invalid = |error| ExecError::new(ExecErrorKind::InvalidJob).at(path).because(error);
    if !path.is_absolute() {
        return Err(ExecError::new(ExecErrorKind::InvalidJob).at(path).saying("the path is not absolute"));
    }
    let real = path.canonicalize().map_err(invalid)?;
    if !real.starts_with(root) {
        return Err(refused(ELSEWHERE));
    }
    // A person approved this path, and a command may have created the link since.
    if has_link(path, root) {
        return Err(refused(LINKED));
    }
    // All components count, also those above the granted directory.
    let above = settings_paths::settings_paths_above(&real, never.git);
    let above: Vec<PathBuf> = above.iter().flat_map(|path| verified_path::trail(path)).collect();
    let mut within = real.ancestors().take_while(|above| above.starts_with(root));
    let is_protected = names::is_protected(&real)
        || never.own.iter().any(|own| real.starts_with(own))
        || real.ancestors().any(is_skill)
        || within.any(settings_paths::may_be_directory)
        || above.iter().any(|path| real.starts_with(path));
    if is_protected {
        return Err(refused(PROTECTED));
    }
    let pinned = VerifiedPath::at(&real).map_err(invalid)?;
    let before = ProtectedPaths::find(&real, root, above, never, Instant::now() + SURVEY_TIME);
    if let Some(unseen) = before.unseen {
        let text = if before.is_spent { TOO_LARGE } else { UNSEEN };
        return Err(ExecError::new(ExecErrorKind::GrantRefused).at(unseen).saying(text));
    }
    if before.protected.contains_key(&real) {
        return Err(refused(LINK_TARGET));
    }
    let mut grant = WritableGrant::new(pinned, before.protected, before.also_protected);
    grant.directories = before.directories;
    Ok(grant)
}

/// Returns whether `path` goes through a symbolic link in `root`.
fn has_link(path: &Path, root: &Path) -> bool {
    let mut trail = verified_path::trail(path);
    // The last one is the resolved path.
    trail.pop();
    trail.iter().any(|link| link.starts_with(root))
}

fn is_skill(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join("SKILL.md")).is_ok()
}

impl WritableGrant {
    pub(crate) fn new(
        pinned: VerifiedPath,
        protected: BTreeMap<PathBuf, ProtectedEntry>,
        also_protected: BTreeSet<PathBuf>,
    ) -> Self {
        let by_inode = protected.iter();
        let by_inode =
            by_inode.map(|(path, entry)| ((entry.pinned.device, entry.pinned.inode), path.clone())).collect();
        Self { pinned, protected, also_protected, directories: Vec::new(), by_inode }
    }

    /// Returns whether a protected file or directory existed at `path` that no command can replace. A
    /// symbolic link can be replaced in some sandboxes.
    pub(super) fn is_held(&self, path: &Path) -> bool {
        self.protected.get(path).is_some_and(|entry| !entry.is_link)
    }

    /// Returns whether the protected entry at `path` is the one that existed before.
    pub(super) fn is_unchanged(&self, path: &Path, metadata: &Metadata) -> bool {
        self.protected.get(path) == Some(&ProtectedEntry::of(path, metadata))
    }

    /// Returns whether a file or directory with a protected name is the user's: it existed before, here or
    /// elsewhere in the grant, or only the user can have replaced the one that existed here.
    pub(super) fn is_users(&self, path: &Path, metadata: &Metadata) -> bool {
        let elsewhere = self.by_inode.get(&(metadata.dev(), metadata.ino()));
        let elsewhere = elsewhere.and_then(|path| self.protected.get(path));
        let here = self.protected.get(path);
        here.is_some_and(|here| !here.is_link || self.is_unchanged(path, metadata))
            || elsewhere.is_some_and(|before| before.is_same_file(&ProtectedEntry::of(path, metadata)))
    }

    /// Returns directories that may be written as a whole, and files that may be changed but not removed, for
    /// a sandbox that cannot except files from a writable directory.
    ///
    /// A directory with a protected file in it is split: its other entries are granted one by one, and
    /// nothing can be created or removed in it.
    pub(crate) fn parts(&self) -> (Vec<VerifiedPath>, Vec<VerifiedPath>) {
        let (mut whole, mut files) = (Vec::new(), Vec::new());
        // Every directory with a protected file at any depth.
        let split: HashSet<&Path> = self.protected.keys().flat_map(|path| path.ancestors().skip(1)).collect();
        let mut pending = vec![self.pinned.path.clone()];
        while let Some(path) = pending.pop() {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if self.protected.contains_key(&path) || metadata.is_symlink() {
                continue;
            }
            if path == self.pinned.path && VerifiedPath::of(&path, &metadata) != self.pinned {
                break;
            }
            if !metadata.is_dir() {
                files.push(VerifiedPath::of(&path, &metadata));
            } else if !split.contains(path.as_path()) {
                whole.push(VerifiedPath::of(&path, &metadata));
            } else if let Ok(entries) = fs::read_dir(&path) {
                pending.extend(entries.flatten().map(|entry| entry.path()));
            }
        }
        (whole, files)
    }
}

#[cfg(test)]
pub(crate) mod tests;
