//! Scratch directories, which are removed when they are dropped, or later if the process was killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::Error;

/// The start of the names of scratch directories.
const PREFIX: &str = "fetch-";

/// The age below which a scratch directory may be one that another process has not locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// Distinguishes the directories that one process makes.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A directory that is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    /// Locked for as long as the directory is in use.
    _lock: Option<File>,
}

impl Scratch {
    /// Makes a scratch directory in `parent`, and removes those that killed processes left there.
    pub(crate) fn create(parent: &Path) -> Result<Self, Error> {
        fs::create_dir_all(parent).map_err(|error| Error::io("make", parent, error))?;
        remove_leftovers(parent);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        // A process with the same number that was killed may have left it.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).map_err(|error| Error::io("make", &path, error))?;
        let lock = File::open(&path).ok().filter(|directory| directory.try_lock().is_ok());
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next process removes it otherwise.
        let _ = fs::remove_dir_all(&self.path);
    }
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
