//! Writes files of a source to a directory of our own, within limits and with paths that are safe everywhere.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use repertoire_model::{PathFault, SkillPath};

use crate::{Error, ErrorKind};

/// Limits of what is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeLimits {
    /// The most files.
    pub(crate) files: usize,
    /// The most bytes of all files.
    pub(crate) bytes: u64,
}

/// The limits of every kind of source, after it is unpacked.
pub(crate) const LIMITS: TreeLimits = TreeLimits { files: 10_000, bytes: 100 * 1024 * 1024 };

/// The reason that a file is not written.
#[derive(Debug)]
pub(crate) enum TreeFault {
    /// It has a path that a skill cannot have.
    Path(String, PathFault),
    /// Its path cannot be told from another one on some systems.
    Clash(String, String),
    /// There are too many files.
    TooMany(usize),
    /// The files are too large.
    TooLarge(u64),
    /// It cannot be written.
    Io(PathBuf, io::Error),
}

impl TreeFault {
    /// Returns `true` if the other files can still be used.
    pub(crate) fn is_about_one_path(&self) -> bool {
        matches!(self, Self::Path(..) | Self::Clash(..))
    }
}

impl fmt::Display for TreeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path, fault) => write!(f, "`{path}`: {fault}"),
            Self::Clash(path, other) => {
                write!(f, "`{path}` and `{other}` are the same path on some systems")
            }
            Self::TooMany(most) => write!(f, "it has more than {most} files"),
            Self::TooLarge(most) => write!(f, "its files have more than {} MiB", most / (1024 * 1024)),
            Self::Io(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl From<TreeFault> for Error {
    fn from(fault: TreeFault) -> Self {
        match fault {
            TreeFault::Io(path, error) => Self::io("write", &path, error),
            fault => Self::new(ErrorKind::Refused, fault.to_string()),
        }
    }
}

/// Writes files below a directory that nobody else writes to.
#[derive(Debug)]
pub(crate) struct TreeWriter {
    root: PathBuf,
    limits: TreeLimits,
    /// The paths of files and their directories, in the form in which they collide.
    seen: BTreeMap<String, TreeEntry>,
    files: usize,
    bytes: u64,
}

#[derive(Debug)]
struct TreeEntry {
    path: String,
    is_file: bool,
}

impl TreeWriter {
    /// Returns a writer to the new directory `root`.
    pub(crate) fn create(root: &Path, limits: TreeLimits) -> Result<Self, Error> {
        fs::create_dir_all(root).map_err(|error| Error::io("make", root, error))?;
        Ok(Self { root: root.to_owned(), limits, seen: BTreeMap::new(), files: 0, bytes: 0 })
    }

    /// Returns the number of bytes that may still be written.
    pub(crate) fn room(&self) -> u64 {
        self.limits.bytes - self.bytes
    }

    /// Writes the file `path`.
    pub(crate) fn add(&mut self, path: &str, executable: bool, bytes: &[u8]) -> Result<(), TreeFault> {
        let checked = SkillPath::new(path).map_err(|fault| TreeFault::Path(path.to_owned(), fault))?;
        self.expect_no_clash(&checked)?;
        if self.files >= self.limits.files {
            return Err(TreeFault::TooMany(self.limits.files));
        }
        if bytes.len() as u64 > self.room() {
            return Err(TreeFault::TooLarge(self.limits.bytes));
        }
        let target = self.root.join(checked.as_str());
        let failed = |error| TreeFault::Io(target.clone(), error);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&target).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        #[cfg(unix)]
        if executable {
            use std::os::unix::fs::PermissionsExt as _;

            file.set_permissions(fs::Permissions::from_mode(0o755)).map_err(failed)?;
        }
        #[cfg(not(unix))]
        let _ = executable;
        self.files += 1;
        self.bytes += bytes.len() as u64;
        self.remember(&checked);
        Ok(())
    }

    /// Removes the top-level directory `name` with what was written there. It still counts for the limits.
    pub(crate) fn remove_directory(&mut self, name: &str) -> Result<(), Error> {
        let directory = self.root.join(name);
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &directory, error));
            }
            _ => {}
        }
        let below = format!("{name}/");
        self.seen.retain(|_, entry| entry.path != name && !entry.path.starts_with(&below));
        Ok(())
    }

    fn expect_no_clash(&self, path: &SkillPath) -> Result<(), TreeFault> {
        let key = path.collision_key();
        let clash = |other: &TreeEntry| TreeFault::Clash(path.to_string(), other.path.clone());
        if let Some(other) = self.seen.get(&key) {
            return Err(clash(other));
        }
        for (end, _) in key.match_indices('/') {
            if let Some(other) = self.seen.get(&key[..end]) {
                let is_same = path.as_str().starts_with(&format!("{}/", other.path));
                if other.is_file || !is_same {
                    return Err(clash(other));
                }
            }
        }
        Ok(())
    }

    fn remember(&mut self, path: &SkillPath) {
        let text = path.as_str();
        for (end, _) in text.match_indices('/') {
            if let Ok(directory) = SkillPath::new(&text[..end]) {
                let entry = TreeEntry { path: directory.to_string(), is_file: false };
                self.seen.entry(directory.collision_key()).or_insert(entry);
            }
        }
        self.seen.insert(path.collision_key(), TreeEntry { path: text.to_owned(), is_file: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_or_collide_are_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("tree");
        let mut tree = TreeWriter::create(&root, TreeLimits { files: 4, bytes: 100 }).unwrap();
        let mut add = |path: &str, size: usize| match tree.add(path, false, &vec![b'x'; size]) {
            Ok(()) => "written".to_owned(),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(add("a/SKILL.md", 10), "written");
        assert_eq!(add("a/x/b.md", 10), "written");
        assert_eq!(add("a/Skill.md", 1), "`a/Skill.md` and `a/SKILL.md` are the same path on some systems");
        assert_eq!(add("a/X/c.md", 1), "`a/X/c.md` and `a/x` are the same path on some systems");
        assert_eq!(
            add("a/SKILL.md/c", 1),
            "`a/SKILL.md/c` and `a/SKILL.md` are the same path on some systems"
        );
        assert_eq!(add("a/x", 1), "`a/x` and `a/x` are the same path on some systems");
        for path in ["../x", "/etc/x", "a/../../x", "a\\..\\x", ".git/config", "a/CON"] {
            assert!(add(path, 1).starts_with(&format!("`{path}`: ")), "{path}");
        }
        assert_eq!(add("a/big", 81), "its files have more than 0 MiB");
        assert_eq!(add("a/c", 1), "written");
        assert_eq!(add("a/d", 1), "written");
        assert_eq!(add("a/e", 1), "it has more than 4 files");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_that_is_removed_can_be_written_again_and_still_counts() {
        let directory = tempfile::tempdir().unwrap();
        let mut tree = TreeWriter::create(directory.path(), TreeLimits { files: 3, bytes: 100 }).unwrap();
        tree.add("a/SKILL.md", false, b"x").unwrap();
        tree.add("ab/SKILL.md", false, b"x").unwrap();
        tree.remove_directory("a").unwrap();
        tree.remove_directory("never").unwrap();
        assert!(!directory.path().join("a").is_dir() && directory.path().join("ab/SKILL.md").is_file());
        tree.add("A/SKILL.md", false, b"y").unwrap();
        assert_eq!(tree.room(), 97);
        assert!(matches!(tree.add("c", false, b"x"), Err(TreeFault::TooMany(3))));
    }
}
