//! Verified paths on systems without sandboxes, where nothing runs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct VerifiedPath {
    pub(crate) path: PathBuf,
}

impl VerifiedPath {
    /// Creates an empty directory.
    pub(crate) fn make_directory(path: &Path) -> io::Result<Self> {
        fs::create_dir(path)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Creates an empty file.
    pub(crate) fn make_file(path: &Path) -> io::Result<Self> {
        File::options().write(true).create_new(true).open(path)?;
        Ok(Self { path: path.to_owned() })
    }

    pub(crate) fn remove_if_empty(&self) -> io::Result<()> {
        match self.path.symlink_metadata()? {
            found if found.is_dir() => fs::remove_dir(&self.path),
            found if found.is_file() && found.len() == 0 => fs::remove_file(&self.path),
            _ => Ok(()),
        }
    }
}
