//! The implementation for systems without `openat2`: cap-std, component by component.

use std::fs::canonicalize;
use std::io::{self, ErrorKind};
use std::path::Path;

use cap_fs_ext::{
    DirExt, FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt, OpenOptionsMaybeDirExt,
    OpenOptionsSyncExt,
};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions};

use super::types::{nanoseconds, read_stamped};
use super::{DirectoryEntry, Entries, EntryKind, FsFault, Stamp};

/// A handle on a directory.
#[derive(Debug)]
pub(crate) struct SafeDir {
    handle: Dir,
}

impl SafeDir {
    /// Opens the directory at `path`, which is trusted: links on the way are followed.
    pub(crate) fn open(path: &Path) -> Result<Self, FsFault> {
        let handle = Dir::open_ambient_dir(path, ambient_authority()).map_err(fault)?;
        Ok(Self { handle })
    }

    /// Opens the directory at the absolute `path`, which was resolved earlier: links on it are errors now.
    pub(crate) fn open_resolved(path: &Path) -> Result<Self, FsFault> {
        let directory = Self::open(path)?;
        match canonicalize(path) {
            Ok(resolved) if resolved == path => Ok(directory),
            Ok(_) => Err(FsFault::Link),
            Err(error) => Err(fault(error)),
        }
    }

    /// Returns a second handle on this directory.
    pub(crate) fn duplicate(&self) -> Result<Self, FsFault> {
        Ok(Self { handle: self.handle.try_clone().map_err(fault)? })
    }

    /// Opens the directory at `path` beneath this one.
    pub(crate) fn open_dir(&self, path: &str) -> Result<Self, FsFault> {
        let device = self.handle.dir_metadata().map_err(fault)?.dev();
        let handle = self.open_mounted(path)?;
        if handle.handle.dir_metadata().map_err(fault)?.dev() != device {
            return Err(FsFault::Outside);
        }
        Ok(handle)
    }

    /// Opens the directory that is mounted at `path` beneath this one.
    pub(crate) fn open_mounted(&self, path: &str) -> Result<Self, FsFault> {
        let mut current: Option<Dir> = None;
        for component in path.split('/') {
            check(component)?;
            let parent = current.as_ref().unwrap_or(&self.handle);
            let next = match parent.open_dir_nofollow(component) {
                Ok(next) => next,
                Err(error) => {
                    return Err(
                        match parent.symlink_metadata(component).map(|data| kind(data.file_type())) {
                            Ok(EntryKind::Link) => FsFault::Link,
                            Ok(EntryKind::File | EntryKind::Special) => FsFault::NotDirectory,
                            Ok(EntryKind::Directory) | Err(_) => fault(error),
                        },
                    );
                }
            };
            current = Some(next);
        }
        current.map(|handle| Self { handle }).ok_or(FsFault::Missing)
    }

    /// Reads the regular file at `path`, if it is at most `cap` bytes; fails if it changed in the meantime.
    pub(crate) fn read(&self, path: &str, cap: u64) -> Result<(Vec<u8>, Stamp), FsFault> {
        let file = self.open_regular(path)?;
        let stamp = regular(&file.metadata().map_err(fault)?)?;
        let bytes = read_stamped(&file, &stamp, cap)?;
        let after = regular(&file.metadata().map_err(fault)?)?;
        if after == stamp { Ok((bytes, stamp)) } else { Err(FsFault::Changed) }
    }

    /// Returns the kind and stamp of the entry at `path`, without following links. The result describes a
    /// name, not a handle: it decides which files to look at, never which may be read.
    pub(crate) fn stat(&self, path: &str) -> Result<(EntryKind, Stamp), FsFault> {
        let metadata = self.handle.symlink_metadata(path).map_err(fault)?;
        Ok((kind(metadata.file_type()), stamp(&metadata)))
    }

    /// Returns the entries of this directory, at most `limit`.
    pub(crate) fn entries(&self, limit: usize) -> Result<Entries, FsFault> {
        let mut entries = Vec::new();
        for entry in self.handle.entries().map_err(fault)? {
            let entry = entry.map_err(fault)?;
            if entries.len() == limit {
                return Ok(Entries { entries, more: true });
            }
            // An entry that is gone again is not listed.
            let Ok(file_type) = entry.file_type() else { continue };
            let name = entry.file_name();
            let decoded = name.to_str().is_some();
            let name = name.to_string_lossy().into_owned();
            entries.push(DirectoryEntry { name, decoded, kind: kind(file_type) });
        }
        Ok(Entries { entries, more: false })
    }

    fn open_regular(&self, path: &str) -> Result<File, FsFault> {
        let (directory, name) = match path.rsplit_once('/') {
            Some((directory, name)) => (Some(self.open_dir(directory)?), name),
            None => (None, path),
        };
        check(name)?;
        let parent = directory.as_ref().map_or(&self.handle, |directory| &directory.handle);
        // Some systems cannot open special files; the check after the open is the one that counts.
        let before = parent.symlink_metadata(name).map_err(fault)?;
        regular(&before)?;
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true).maybe_dir(true).follow(FollowSymlinks::No);
        let file = parent.open_with(name, &options).map_err(fault)?;
        if file.metadata().map_err(fault)?.dev() != self.handle.dir_metadata().map_err(fault)?.dev() {
            return Err(FsFault::Outside);
        }
        Ok(file)
    }
}

fn check(component: &str) -> Result<(), FsFault> {
    let plain = !matches!(component, "" | "." | "..") && !component.contains(['\\', ':', '\0']);
    if plain { Ok(()) } else { Err(FsFault::Outside) }
}

fn regular(metadata: &Metadata) -> Result<Stamp, FsFault> {
    match kind(metadata.file_type()) {
        EntryKind::File => Ok(stamp(metadata)),
        EntryKind::Directory => Err(FsFault::IsDirectory),
        EntryKind::Link => Err(FsFault::Link),
        EntryKind::Special => Err(FsFault::Special),
    }
}

fn kind(file_type: FileType) -> EntryKind {
    if file_type.is_file() {
        EntryKind::File
    } else if file_type.is_dir() {
        EntryKind::Directory
    } else if file_type.is_symlink() {
        EntryKind::Link
    } else {
        EntryKind::Special
    }
}

#[cfg(unix)]
fn stamp(metadata: &Metadata) -> Stamp {
    use cap_std::fs::MetadataExt as _;
    Stamp {
        size: metadata.len(),
        modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        inode: cap_fs_ext::MetadataExt::ino(metadata),
        device: cap_fs_ext::MetadataExt::dev(metadata),
        mode: metadata.mode(),
        links: cap_fs_ext::MetadataExt::nlink(metadata),
    }
}

#[cfg(not(unix))]
fn stamp(metadata: &Metadata) -> Stamp {
    let since =
        metadata.modified().ok().and_then(|time| time.into_std().duration_since(std::time::UNIX_EPOCH).ok());
    let modified = since.map_or(0, |since| {
        nanoseconds(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()))
    });
    // Neither the change time nor the mode is available here.
    Stamp {
        size: metadata.len(),
        modified,
        changed: modified,
        inode: metadata.ino(),
        device: metadata.dev(),
        mode: 0,
        links: 0,
    }
}

fn fault(error: io::Error) -> FsFault {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidFilename => FsFault::Missing,
        ErrorKind::NotADirectory => FsFault::NotDirectory,
        ErrorKind::IsADirectory => FsFault::IsDirectory,
        ErrorKind::CrossesDevices => FsFault::Outside,
        ErrorKind::PermissionDenied => FsFault::Denied(error),
        _ => FsFault::Io(error),
    }
}
