//! The implementation for Linux: `openat2`, or `openat` component by component where that is missing.

use std::fs::{File, canonicalize};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat, fstat, openat, openat2, statat,
};
use rustix::io::Errno;

use super::types::{nanoseconds, read_stamped};
use super::{DirectoryEntry, Entries, EntryKind, FsFault, Stamp};

/// The flags for opening files: never block, never acquire a controlling terminal, close on exec.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY);
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);
/// With `openat2` the kernel refuses links itself, and reports that it met one.
const WALKED_DIRECTORY: OFlags = DIRECTORY.difference(OFlags::NOFOLLOW);
const STEP: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// The most attempts at an open that fails because of a concurrent rename.
const MAX_ATTEMPTS: usize = 8;

/// Room for the answer of one `getdents64`.
const LISTING_BUFFER: usize = 64 * 1024;

/// True once `openat2` is known to be missing: kernels before 5.6, and sandboxes that refuse it.
static STEPWISE: AtomicBool = AtomicBool::new(false);

/// A handle on a directory.
#[derive(Debug)]
pub(crate) struct SafeDir {
    handle: OwnedFd,
    stepwise: bool,
}

impl SafeDir {
    /// Opens the directory at `path`, which is trusted: links on the way are followed.
    pub(crate) fn open(path: &Path) -> Result<Self, FsFault> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        let handle = openat(CWD, path, flags, Mode::empty()).map_err(fault)?;
        Ok(Self { handle, stepwise: STEPWISE.load(Ordering::Relaxed) })
    }

    /// Opens the directory at the absolute `path`, which was resolved earlier: links on it are errors now.
    pub(crate) fn open_resolved(path: &Path) -> Result<Self, FsFault> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(CWD, path, WALKED_DIRECTORY, Mode::empty(), resolve) {
            Ok(handle) => Ok(Self { handle, stepwise: STEPWISE.load(Ordering::Relaxed) }),
            Err(Errno::NOSYS | Errno::PERM) => {
                let directory = Self::open(path)?;
                // Resolving again after the open is as near as can be had without `openat2`.
                match canonicalize(path) {
                    Ok(resolved) if resolved == path => Ok(Self { stepwise: true, ..directory }),
                    Ok(_) => Err(FsFault::Link),
                    Err(error) => Err(FsFault::Io(error)),
                }
            }
            Err(errno) => Err(fault(errno)),
        }
    }

    /// Returns this handle, made to work as if `openat2` were missing.
    #[cfg(test)]
    pub(crate) fn stepwise(self) -> Self {
        Self { stepwise: true, ..self }
    }

    /// Returns a second handle on this directory.
    pub(crate) fn duplicate(&self) -> Result<Self, FsFault> {
        let handle = self.handle.try_clone().map_err(FsFault::Io)?;
        Ok(Self { handle, stepwise: self.stepwise })
    }

    /// Opens the directory at `path` beneath this one.
    pub(crate) fn open_dir(&self, path: &str) -> Result<Self, FsFault> {
        let handle = self.open_at(path, DIRECTORY)?;
        Ok(Self { handle, stepwise: self.stepwise })
    }

    /// Opens the directory that is mounted at `name`, an entry of this one.
    pub(crate) fn open_mounted(&self, name: &str) -> Result<Self, FsFault> {
        let handle = openat(&self.handle, name, DIRECTORY, Mode::empty()).map_err(fault)?;
        Ok(Self { handle, stepwise: self.stepwise })
    }

    /// Reads the regular file at `path`, if it is at most `cap` bytes; fails if it changed in the meantime.
    pub(crate) fn read(&self, path: &str, cap: u64) -> Result<(Vec<u8>, Stamp), FsFault> {
        let file = File::from(self.open_at(path, FILE)?);
        let stamp = regular(&fstat(&file).map_err(fault)?)?;
        let bytes = read_stamped(&file, &stamp, cap)?;
        let after = regular(&fstat(&file).map_err(fault)?)?;
        if after == stamp { Ok((bytes, stamp)) } else { Err(FsFault::Changed) }
    }

    /// Returns the kind and stamp of the entry at `path`, without following links. The result describes a
    /// name, not a handle: it decides which files to look at, never which may be read.
    pub(crate) fn stat(&self, path: &str) -> Result<(EntryKind, Stamp), FsFault> {
        let stat = statat(&self.handle, path, AtFlags::SYMLINK_NOFOLLOW).map_err(fault)?;
        Ok((kind(FileType::from_raw_mode(stat.st_mode)), stamp(&stat)))
    }

    /// Returns the entries of this directory, at most `limit`.
    pub(crate) fn entries(&self, limit: usize) -> Result<Entries, FsFault> {
        // A second handle, because listing moves a position that all users of one handle share.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        let directory = openat(&self.handle, ".", flags, Mode::empty()).map_err(fault)?;
        let mut buffer = Vec::with_capacity(LISTING_BUFFER);
        let mut listing = RawDir::new(&directory, buffer.spare_capacity_mut());
        let mut entries = Vec::new();
        while let Some(entry) = listing.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(fault(errno)),
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if entries.len() == limit {
                return Ok(Entries { entries, more: true });
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => kind(FileType::from_raw_mode(stat.st_mode)),
                    // The entry is gone again.
                    Err(_) => continue,
                },
                known => kind(known),
            };
            entries.push(match name.to_str() {
                Ok(name) => DirectoryEntry { name: name.to_owned(), decoded: true, kind },
                Err(_) => DirectoryEntry { name: name.to_string_lossy().into_owned(), decoded: false, kind },
            });
        }
        Ok(Entries { entries, more: false })
    }

    fn open_at(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FsFault> {
        if self.stepwise {
            return self.open_steps(path, flags);
        }
        let walked = if flags == DIRECTORY { WALKED_DIRECTORY } else { flags };
        for _ in 0..MAX_ATTEMPTS {
            match openat2(&self.handle, path, walked, Mode::empty(), BENEATH) {
                Ok(handle) => return Ok(handle),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::PERM) => {
                    let opened = self.open_steps(path, flags);
                    STEPWISE.store(opened.is_ok(), Ordering::Relaxed);
                    return opened;
                }
                Err(errno) => return Err(fault(errno)),
            }
        }
        Err(FsFault::Changed)
    }

    /// Opens `path` one component at a time, none of them a link.
    fn open_steps(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FsFault> {
        let mut components = path.split('/').peekable();
        let device = fstat(&self.handle).map_err(fault)?.st_dev;
        let mut current: Option<OwnedFd> = None;
        while let Some(component) = components.next() {
            if matches!(component, "" | "." | "..") {
                return Err(FsFault::Outside);
            }
            let parent = current.as_ref().map_or_else(|| self.handle.as_fd(), AsFd::as_fd);
            let step = if components.peek().is_some() { STEP } else { flags };
            let next = match openat(parent, component, step, Mode::empty()) {
                Ok(next) => next,
                // The message says which of the two it was.
                Err(Errno::NOTDIR) => {
                    let link = statat(parent, component, AtFlags::SYMLINK_NOFOLLOW)
                        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
                    return Err(if link { FsFault::Link } else { FsFault::NotDirectory });
                }
                Err(errno) => return Err(fault(errno)),
            };
            if fstat(&next).map_err(fault)?.st_dev != device {
                return Err(FsFault::Outside);
            }
            current = Some(next);
        }
        current.ok_or(FsFault::Missing)
    }
}

fn regular(stat: &Stat) -> Result<Stamp, FsFault> {
    match kind(FileType::from_raw_mode(stat.st_mode)) {
        EntryKind::File => Ok(stamp(stat)),
        EntryKind::Directory => Err(FsFault::IsDirectory),
        EntryKind::Link => Err(FsFault::Link),
        EntryKind::Special => Err(FsFault::Special),
    }
}

fn kind(file_type: FileType) -> EntryKind {
    match file_type {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    }
}

// The widths of these fields differ from one architecture to the next.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
fn stamp(stat: &Stat) -> Stamp {
    Stamp {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        inode: stat.st_ino as u64,
        device: stat.st_dev as u64,
        mode: stat.st_mode as u32,
        links: stat.st_nlink as u64,
    }
}

fn fault(errno: Errno) -> FsFault {
    match errno {
        Errno::NOENT | Errno::NAMETOOLONG => FsFault::Missing,
        Errno::NOTDIR => FsFault::NotDirectory,
        Errno::ISDIR => FsFault::IsDirectory,
        Errno::LOOP => FsFault::Link,
        Errno::XDEV => FsFault::Outside,
        Errno::NXIO | Errno::NODEV => FsFault::Special,
        Errno::ACCESS | Errno::PERM => FsFault::Denied(io::Error::from(errno)),
        _ => FsFault::Io(io::Error::from(errno)),
    }
}
