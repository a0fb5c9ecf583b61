//! The lock of a directory of skills.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind};

/// The longest wait for another process that writes a skill in the same directory.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two attempts to lock a directory.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A lock that keeps other processes from writing skills in a directory, until dropped or the process ends.
///
/// It holds nothing where directories cannot be locked; a write still replaces only what it expects.
#[derive(Debug)]
pub struct SkillLock {
    directory: Option<File>,
}

impl SkillLock {
    /// Returns `true` if the directory is locked, which some file systems do not allow.
    pub(super) fn is_held(&self) -> bool {
        self.directory.is_some()
    }
}

/// Waits until no other process writes a skill beside `directory`, and keeps them waiting.
///
/// Fails if another process does not give up its lock within ten seconds.
pub fn lock_skill(directory: &Path) -> Result<SkillLock, Error> {
    lock_skill_within(directory, LOCK_TIMEOUT)
}

fn lock_skill_within(directory: &Path, timeout: Duration) -> Result<SkillLock, Error> {
    let end = Instant::now() + timeout;
    loop {
        match try_lock_skill(directory) {
            Some(lock) => return Ok(lock),
            None if Instant::now() >= end => {
                return Err(Error::new(ErrorKind::Io)
                    .at(directory.parent().unwrap_or(directory))
                    .because("another program keeps the directory locked; try again"));
            }
            None => thread::sleep(LOCK_PAUSE),
        }
    }
}

/// Returns the lock of [`lock_skill`], or `None` if another process has it.
pub(super) fn try_lock_skill(directory: &Path) -> Option<SkillLock> {
    let parent = directory.parent().and_then(|parent| File::open(parent).ok());
    match parent.as_ref().map(File::try_lock) {
        Some(Err(TryLockError::WouldBlock)) => None,
        Some(Ok(())) => Some(SkillLock { directory: parent }),
        Some(Err(TryLockError::Error(_))) | None => Some(SkillLock { directory: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_another_process_keeps_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let skill = root.path().join("greet");
        let lock = lock_skill(&skill).unwrap();
        let error = lock_skill_within(&skill, Duration::ZERO).unwrap_err().chain();
        assert!(error.contains("another program keeps the directory locked; try again"), "{error}");
        drop(lock);
        lock_skill_within(&skill, Duration::ZERO).unwrap();
        // A directory that is not there yet has no lock, and a write to it fails for that reason.
        lock_skill_within(&root.path().join("missing/greet"), Duration::ZERO).unwrap();
    }
}
