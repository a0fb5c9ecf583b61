//! Types that both implementations share.

use std::io::{self, Read};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    Link,
    /// A device, socket or pipe.
    Special,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirectoryEntry {
    /// Its name; where `decoded` is false, an approximation for people.
    pub(crate) name: String,
    pub(crate) decoded: bool,
    pub(crate) kind: EntryKind,
}

/// The entries of a directory, in no particular order.
#[derive(Debug)]
pub(crate) struct Entries {
    pub(crate) entries: Vec<DirectoryEntry>,
    /// True if there were more entries than the limit.
    pub(crate) more: bool,
}

/// The stamp of a file: as long as it stays the same, the file was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i64,
    /// Nanoseconds since 1970; the inode's own change time, which no program can set.
    pub(crate) changed: i64,
    pub(crate) inode: u64,
    pub(crate) device: u64,
    pub(crate) mode: u32,
    /// The number of names that the file has; 0 if it is not known.
    pub(crate) links: u64,
}

/// The permission bit of an owner who may execute the file.
const OWNER_EXECUTES: u32 = 0o100;

/// The age below which a stamp does not count: with coarse times a second write could leave it the same.
const RACY_NANOSECONDS: i64 = 2_000_000_000;

impl Stamp {
    /// Returns whether a change after `now`, in nanoseconds since 1970, is sure to change the stamp.
    pub(crate) fn is_settled(&self, now: i64) -> bool {
        self.modified.max(self.changed) < now.saturating_sub(RACY_NANOSECONDS)
    }

    /// Returns whether the file's owner may execute it.
    pub(crate) fn is_executable(&self) -> bool {
        self.mode & OWNER_EXECUTES != 0
    }
}

/// The reason that something beneath a handle was not opened or not read.
#[derive(Debug)]
pub(crate) enum FsFault {
    /// There is nothing there.
    Missing,
    /// It is a directory where a file was wanted.
    IsDirectory,
    /// It, or a component before the last, is not a directory where one was wanted.
    NotDirectory,
    /// It, or a component on the way, is a symbolic link.
    Link,
    /// It is a device, socket or pipe.
    Special,
    /// It is beyond a mount point or above the handle.
    Outside,
    /// It is larger than the cap; the size as far as known.
    TooLarge(u64),
    /// It changed while it was being read.
    Changed,
    /// The operating system refused.
    Denied(io::Error),
    /// The operating system reported something else.
    Io(io::Error),
}

impl FsFault {
    /// Returns the error of the operating system, or one that says the same.
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Self::Denied(error) | Self::Io(error) => error,
            fault => io::Error::other(fault.message()),
        }
    }

    /// Returns the message for people, in lower case and without final period.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Missing => "there is no such file".to_owned(),
            Self::IsDirectory => "it is a directory".to_owned(),
            Self::NotDirectory => "it is not a directory".to_owned(),
            Self::Link => "it is a symbolic link".to_owned(),
            Self::Special => "it is a device, socket or pipe".to_owned(),
            Self::Outside => "it is outside the directory or on another file system".to_owned(),
            Self::TooLarge(size) => format!("it is too large ({size} bytes)"),
            Self::Changed => "it changed while it was being read".to_owned(),
            Self::Denied(error) | Self::Io(error) => error.to_string().to_lowercase(),
        }
    }
}

/// Reads as many bytes of `file` as `stamp` says that it has, if that is at most `cap`.
pub(super) fn read_stamped(file: impl Read, stamp: &Stamp, cap: u64) -> Result<Vec<u8>, FsFault> {
    if stamp.size > cap {
        return Err(FsFault::TooLarge(stamp.size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0));
    // The limit also spares the call that would only find the end of the file.
    let length = file.take(stamp.size).read_to_end(&mut bytes).map_err(FsFault::Io)?;
    if length as u64 == stamp.size { Ok(bytes) } else { Err(FsFault::Changed) }
}

/// Returns `seconds` and `nanoseconds` as nanoseconds; times beyond the year 2262 come out as that year.
pub(super) fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// Returns the time now, as in a [`Stamp`].
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
