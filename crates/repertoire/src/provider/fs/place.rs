//! The directory of a skill and the handle through which everything in it is read.

use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use super::safe_dir::{FsFault, SafeDir, Stamp};

/// The directory that is scanned.
#[derive(Debug)]
pub(super) struct ScanRoot {
    pub(super) handle: SafeDir,
    /// Its path without links.
    pub(super) resolved: PathBuf,
}

impl ScanRoot {
    pub(super) fn open(path: &Path) -> Result<Self, FsFault> {
        let handle = SafeDir::open(path)?;
        let resolved = canonicalize(path).map_err(FsFault::Io)?;
        Ok(Self { handle, resolved })
    }
}

/// The way from the root to the directory of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Home {
    /// By its locator, beneath the root and without links.
    Beneath,
    /// By its locator, the mount point of another file system.
    Mounted,
    /// By a link below the root that was resolved to this path.
    Linked(PathBuf),
}

/// The locator of a root that is itself a skill.
pub(super) const ROOT_LOCATOR: &str = ".";

/// A directory, and the handle it is reached through.
#[derive(Debug)]
pub(super) struct OpenDirectory<'a> {
    pub(super) root: &'a ScanRoot,
    /// Its path relative to the root, or [`ROOT_LOCATOR`].
    pub(super) relative: &'a str,
    pub(super) home: Home,
    /// A handle of its own, if it is not reached through that of the root.
    own: Option<SafeDir>,
}

impl<'a> OpenDirectory<'a> {
    /// Returns the place `relative` beneath `root`; nothing is opened.
    pub(super) fn beneath(root: &'a ScanRoot, relative: &'a str) -> Self {
        Self { root, relative, home: Home::Beneath, own: None }
    }

    /// Opens the place `relative` of `root`, which is reached by way of `home`.
    pub(super) fn open(root: &'a ScanRoot, relative: &'a str, home: &Home) -> Result<Self, FsFault> {
        let own = match home {
            Home::Beneath => None,
            Home::Mounted => Some(root.handle.open_mounted(relative)?),
            Home::Linked(path) => Some(SafeDir::open_resolved(path)?),
        };
        Ok(Self { root, relative, home: home.clone(), own })
    }

    /// Opens the target of the link `relative`; the link is resolved only here.
    pub(super) fn link(root: &'a ScanRoot, relative: &'a str) -> Result<Self, FsFault> {
        let resolved = canonicalize(root.resolved.join(relative)).map_err(FsFault::Io)?;
        Self::open(root, relative, &Home::Linked(resolved))
    }

    fn handle(&self) -> &SafeDir {
        self.own.as_ref().unwrap_or(&self.root.handle)
    }

    /// Returns the path of the file `path` relative to the handle.
    fn within(&self, path: &str) -> String {
        if self.own.is_some() || self.relative == ROOT_LOCATOR {
            path.to_owned()
        } else {
            [self.relative, "/", path].concat()
        }
    }

    /// Returns its path with links resolved.
    pub(super) fn resolved(&self) -> PathBuf {
        match &self.home {
            Home::Linked(path) => path.clone(),
            Home::Beneath | Home::Mounted if self.relative == ROOT_LOCATOR => self.root.resolved.clone(),
            Home::Beneath | Home::Mounted => self.root.resolved.join(self.relative),
        }
    }

    /// Returns its name as people see it.
    pub(super) fn directory_name(&self) -> Option<String> {
        if self.relative == ROOT_LOCATOR {
            return self.root.resolved.file_name().map(|name| name.to_string_lossy().into_owned());
        }
        self.relative.rsplit('/').next().map(str::to_owned)
    }

    /// Opens the directory itself.
    pub(super) fn directory(&self) -> Result<SafeDir, FsFault> {
        if self.own.is_some() || self.relative == ROOT_LOCATOR {
            return self.handle().duplicate();
        }
        self.root.handle.open_dir(self.relative)
    }

    /// Reads the file `path`, and again if it changed in the meantime.
    pub(super) fn read(&self, path: &str, cap: u64) -> Result<(Vec<u8>, Stamp), FsFault> {
        read(self.handle(), &self.within(path), cap)
    }

    pub(super) fn stat(&self, path: &str) -> Result<(super::safe_dir::EntryKind, Stamp), FsFault> {
        self.handle().stat(&self.within(path))
    }
}

/// Returns the path of `relative` below `directory` as text; invalid UTF-8 is approximated.
pub(super) fn path_text(directory: &Path, relative: &str) -> String {
    if relative == ROOT_LOCATOR {
        directory.to_string_lossy().into_owned()
    } else {
        directory.join(relative).to_string_lossy().into_owned()
    }
}

/// The most attempts at reading a file that changes while it is being read.
const MAX_ATTEMPTS: usize = 3;

/// Reads the file `path` beneath `handle`, and again if it changed in the meantime.
pub(super) fn read(handle: &SafeDir, path: &str, cap: u64) -> Result<(Vec<u8>, Stamp), FsFault> {
    for _ in 1..MAX_ATTEMPTS {
        match handle.read(path, cap) {
            Err(FsFault::Changed) => {}
            outcome => return outcome,
        }
    }
    handle.read(path, cap)
}
