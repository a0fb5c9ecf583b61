//! A file or directory that was looked at, held to: opened later, it must be the same one.

use std::fs::{self, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// A path without links in it, and what was there when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pinned {
    pub(crate) path: PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Pinned {
    /// Pins what is at `path`, which must have no links in it, itself included.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(path, &fs::symlink_metadata(path)?))
    }

    /// Pins what `metadata` tells of `path`.
    pub(crate) fn of(path: &Path, metadata: &Metadata) -> Self {
        Self { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino() }
    }

    /// Opens it, if it is still the same and no link came to be on the way; neither for reading nor for writing.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        let fd = open(&self.path)?;
        let now = rustix::fs::fstat(&fd)?;
        #[allow(clippy::unnecessary_cast, reason = "not everywhere are these of one size")]
        let is_same = (now.st_dev as u64, now.st_ino as u64) == (self.device, self.inode);
        if !is_same {
            return Err(io::Error::other("it was replaced by something else meanwhile"));
        }
        Ok(fd)
    }
}

/// Opens a path, neither for reading nor for writing, along which there may be no link.
#[cfg(target_os = "linux")]
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{CWD, ResolveFlags, openat2};

    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // In some containers the call is refused.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => open_by_steps(path, flags),
        other => Ok(other?),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    open_by_steps(path, OFlags::CLOEXEC | OFlags::NOFOLLOW)
}

/// The same name by name.
fn open_by_steps(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut fd = rustix::fs::open("/", flags | OFlags::DIRECTORY, Mode::empty())?;
    for name in path.components().skip(1) {
        let next = rustix::fs::openat(&fd, name.as_os_str(), flags, Mode::empty())?;
        let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&next)?.st_mode);
        if kind == rustix::fs::FileType::Symlink {
            return Err(io::Error::other("a link is on the way"));
        }
        fd = next;
    }
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_was_replaced_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let path = root.join("a/b");
        fs::create_dir_all(&path).unwrap();
        fs::create_dir_all(root.join("secret/b")).unwrap();
        let pinned = Pinned::at(&path).unwrap();
        pinned.open().unwrap();
        fs::rename(root.join("a"), root.join("kept")).unwrap();
        pinned.open().unwrap_err();
        // Not even by a link to the very same.
        symlink(root.join("kept"), root.join("a")).unwrap();
        pinned.open().unwrap_err();
        open_by_steps(&path, OFlags::CLOEXEC | OFlags::NOFOLLOW).unwrap_err();
        fs::remove_file(root.join("a")).unwrap();
        fs::rename(root.join("secret"), root.join("a")).unwrap();
        pinned.open().unwrap_err();
        open_by_steps(&path, OFlags::CLOEXEC | OFlags::NOFOLLOW).unwrap();
    }
}
