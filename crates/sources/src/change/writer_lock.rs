//! Keeps two processes from changing the same installation.

use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use repertoire::history::{SkillLock, lock_skill};
use repertoire_model::Digest;

use crate::installation::Installation;
use crate::{Error, ErrorKind};

/// The longest wait for another process.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A lock that is held for as long as an installation is changed.
#[derive(Debug)]
pub(super) struct WriterLock {
    _file: File,
    /// Keeps those away that write skills without a lock file, such as `rep rollback`.
    _skills: Option<SkillLock>,
}

/// Returns the path of a file that belongs to `installation`, in the user's directory of state.
pub(super) fn state_file(installation: &Installation, ending: &str) -> PathBuf {
    let base = installation.base.canonicalize().unwrap_or_else(|_| installation.base.clone());
    // A home directory may be a project, too.
    let name = format!("{}\0{}", base.display(), installation.lock.display());
    installation.state.join(format!("{}.{ending}", &Digest::of(name.as_bytes()).to_hex()[..32]))
}

impl WriterLock {
    /// Waits until no other process changes `installation`.
    pub(super) fn acquire(installation: &Installation) -> Result<Self, Error> {
        let end = Instant::now() + TIMEOUT;
        let file = loop {
            if let Some(file) = open(installation)? {
                break file;
            }
            if Instant::now() >= end {
                return Err(Error::new(
                    ErrorKind::Changed,
                    format!("another rep changes the skills of {}", installation.base.display()),
                )
                .hint("try again when it has finished"));
            }
            thread::sleep(PAUSE);
        };
        let skills = lock_skill(&installation.skills.join("x"))?;
        Ok(Self { _file: file, _skills: Some(skills) })
    }

    /// Returns the lock, or `None` if another process has it.
    pub(super) fn try_acquire(installation: &Installation) -> Result<Option<Self>, Error> {
        Ok(open(installation)?.map(|file| Self { _file: file, _skills: None }))
    }
}

fn open(installation: &Installation) -> Result<Option<File>, Error> {
    let path = state_file(installation, "lock");
    fs::create_dir_all(&installation.state).map_err(|error| Error::io("make", &installation.state, error))?;
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| Error::io("write", &path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", &path, error)),
    }
}
