//! Keeps two processes from changing the same place.

use std::fs::{self, File, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use super::place::ChangePlace;
use crate::history::{SkillLock, lock_skill};
use crate::{Error, ErrorKind};

/// The longest wait for another process.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A lock that is held for as long as a place is changed.
#[derive(Debug)]
pub struct WriterLock {
    _file: File,
    /// Keeps those away that write skills without a lock file, such as `rep history --restore`.
    _skills: Option<SkillLock>,
}

impl WriterLock {
    /// Waits until no other process changes `place`.
    pub(super) fn acquire(place: &ChangePlace) -> Result<Self, Error> {
        let end = Instant::now() + TIMEOUT;
        let file = loop {
            if let Some(file) = open(place)? {
                break file;
            }
            if Instant::now() >= end {
                return Err(Error::new(ErrorKind::Busy).at(&place.base));
            }
            thread::sleep(PAUSE);
        };
        let skills = lock_skill(&place.skills.join("x"))?;
        Ok(Self { _file: file, _skills: Some(skills) })
    }

    /// Returns the lock, or `None` if another process has it.
    pub(super) fn try_acquire(place: &ChangePlace) -> Result<Option<Self>, Error> {
        Ok(open(place)?.map(|file| Self { _file: file, _skills: None }))
    }
}

fn open(place: &ChangePlace) -> Result<Option<File>, Error> {
    let path = place.file("lock");
    let directory = path.parent().unwrap_or(&path);
    fs::create_dir_all(directory).map_err(|error| Error::io("make", directory, error))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        // Earlier versions let everybody read it. One that belongs to another user stays as it is.
        let _ = fs::set_permissions(directory, fs::Permissions::from_mode(0o700));
    }
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| Error::io("write", &path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", &path, error)),
    }
}
