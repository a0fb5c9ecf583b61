//! Scratch directories, which are removed when they are dropped, or later if the process was killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rayon::prelude::*;
use tempfile::TempDir;

use crate::Error;

/// The start of the names of scratch directories.
const PREFIX: &str = "fetch-";

/// The age below which a scratch directory may be one that another process has not locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// The depth at which most directories of skills lie, as `tree/skills/NAME`, which are removed in parallel.
const PARALLEL_DEPTH: usize = 3;

/// A directory that is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    // Removed before the lock is given up.
    directory: TempDir,
    /// Locked for as long as the directory is in use.
    _lock: Option<File>,
}

impl Scratch {
    /// Makes a scratch directory in `parent`, and removes what killed processes left there. Its name is
    /// random: processes in containers that share `parent` may have the same number.
    pub(crate) fn create(parent: &Path) -> Result<Self, Error> {
        fs::create_dir_all(parent).map_err(|error| Error::io("make", parent, error))?;
        remove_leftovers(parent);
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
        let directory = directory.map_err(|error| Error::io("make", parent, error))?;
        let lock = File::open(directory.path()).ok().filter(|directory| directory.try_lock().is_ok());
        Ok(Self { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut level = vec![self.directory.path().to_owned()];
        for _ in 0..PARALLEL_DEPTH {
            level = level.iter().flat_map(|directory| directories_in(directory)).collect();
        }
        level.par_iter().for_each(|directory| {
            // Leftovers are removed with the whole, or by the next process.
            let _ = fs::remove_dir_all(directory);
        });
    }
}

/// Returns the directories in `directory`, without links.
fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let children = fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = children.filter(|child| child.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|child| child.path()).collect()
}

fn remove_leftovers(parent: &Path) {
    for child in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_scratch = child.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let modified = child.metadata().and_then(|metadata| metadata.modified());
        let is_old = modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > YOUNG));
        if is_scratch && is_old && File::open(child.path()).is_ok_and(|it| it.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(child.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_old_directories_that_nobody_uses_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        // A process of the same number in another container.
        let number = std::process::id();
        let other = parent.path().join(format!("{PREFIX}{number}-0"));
        fs::create_dir(&other).unwrap();
        fs::write(other.join("file"), "x").unwrap();
        let used = Scratch::create(parent.path()).unwrap();
        assert!(other.join("file").is_file() && used.path().is_dir());
        let make_old = |path: &Path| {
            let time = SystemTime::now() - 2 * YOUNG;
            File::open(path).unwrap().set_modified(time).unwrap();
        };
        make_old(&other);
        make_old(used.path());
        let second = Scratch::create(parent.path()).unwrap();
        assert!(!other.is_dir() && used.path().is_dir());
        let path = second.path().to_owned();
        fs::create_dir_all(path.join("tree/skills/a/b")).unwrap();
        fs::write(path.join("tree/skills/a/b/c"), "x").unwrap();
        drop(second);
        assert!(!path.is_dir());
    }
}
