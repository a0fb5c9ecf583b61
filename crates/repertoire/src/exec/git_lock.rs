//! Locks of git's files, by git's own rules: whoever makes `NAME.lock` may write `NAME`, and does so by giving the one the name of the other.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::exec::allowance::Allowance;
use crate::exec::git_dir::{GitDir, lock_of};

/// How often a lock is tried, and how long is waited in between.
const ATTEMPTS: usize = 20;
const INTERVAL: Duration = Duration::from_millis(100);

/// A lock of a file of git, given back in any case. What is to be in the file is written when it is taken, so that little can go wrong afterwards.
#[derive(Debug)]
pub(crate) struct Lock<'a> {
    directory: &'a GitDir,
    target: PathBuf,
    after: After,
    is_held: bool,
}

/// What is to become of a file that is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Same,
    Gone,
    /// What is in the lock.
    Written,
}

impl<'a> Lock<'a> {
    /// Takes that of `target` and leaves that as it is; nothing if somebody else has it.
    pub(crate) fn take(directory: &'a GitDir, target: impl AsRef<Path>) -> io::Result<Option<Self>> {
        Self::take_with(directory, target.as_ref(), After::Same, &[], None)
    }

    /// Takes that of `target`, in which `content` is to be, or which is to go.
    pub(crate) fn take_to_write(
        directory: &'a GitDir,
        target: impl AsRef<Path>,
        content: Option<&[u8]>,
    ) -> io::Result<Option<Self>> {
        Self::take_to_write_dated(directory, target, content, None)
    }

    /// Takes that of `target`, in which `content` is to be, of this time, or which is to go.
    pub(crate) fn take_to_write_dated(
        directory: &'a GitDir,
        target: impl AsRef<Path>,
        content: Option<&[u8]>,
        time: Option<SystemTime>,
    ) -> io::Result<Option<Self>> {
        let after = if content.is_some() { After::Written } else { After::Gone };
        Self::take_with(directory, target.as_ref(), after, content.unwrap_or_default(), time)
    }

    fn take_with(
        directory: &'a GitDir,
        target: &Path,
        after: After,
        content: &[u8],
        time: Option<SystemTime>,
    ) -> io::Result<Option<Self>> {
        let mut file = match directory.create(lock_of(target)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            file => file?,
        };
        let lock = Self { directory, target: target.to_owned(), after, is_held: true };
        io::Write::write_all(&mut file, content)?;
        time.map_or(Ok(()), |time| file.set_modified(time))?;
        Ok(Some(lock))
    }

    /// Does with the file what is to be done.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        match self.after {
            After::Same => Ok(()),
            After::Gone => self.directory.remove(&self.target),
            After::Written => {
                self.directory.rename(lock_of(&self.target), &self.target)?;
                self.is_held = false;
                Ok(())
            }
        }
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        if self.is_held {
            let _ = self.directory.remove(lock_of(&self.target));
        }
    }
}

/// Tries again for a while where somebody else has a lock: most are held for a moment.
pub(crate) fn patiently<T>(
    allowance: &Allowance,
    mut attempt: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    for _ in 1..ATTEMPTS {
        if let Some(done) = attempt()? {
            return Ok(Some(done));
        }
        allowance.go_on()?;
        std::thread::sleep(INTERVAL);
    }
    attempt()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "what came of it is looked at plainly")]

    use std::fs;

    use super::*;

    #[test]
    fn a_lock_is_held_by_one_and_given_back() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = GitDir::open(&root).unwrap();
        fs::write(root.join("a"), "old").unwrap();
        let lock = Lock::take_to_write(&git, "a", Some(b"new")).unwrap().unwrap();
        assert!(Lock::take(&git, "a").unwrap().is_none());
        drop(lock);
        assert_eq!(fs::read(root.join("a")).unwrap(), b"old");
        Lock::take_to_write(&git, "a", Some(b"new")).unwrap().unwrap().commit().unwrap();
        assert_eq!(fs::read(root.join("a")).unwrap(), b"new");
        Lock::take(&git, "a").unwrap().unwrap().commit().unwrap();
        Lock::take_to_write(&git, "a", None).unwrap().unwrap().commit().unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    }
}
