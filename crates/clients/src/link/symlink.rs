//! Making and removing a link, as each system does it.

use std::fs;
use std::io;
use std::path::Path;

/// Makes the link at `path` that says `to`.
#[cfg(unix)]
pub(crate) fn make_link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

/// Makes the link at `path` that says `to`.
#[cfg(windows)]
pub fn make_link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(to, path)
}

/// Fails, because this system has no links.
#[cfg(not(any(unix, windows)))]
pub fn make_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes the link at `path`.
#[cfg(not(windows))]
pub(crate) fn remove_link(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Removes the link at `path`.
#[cfg(windows)]
pub fn remove_link(path: &Path) -> io::Result<()> {
    fs::remove_dir(path)
}

/// Returns whether the system or the file system has no links, or none for this user. 1314 is how Windows says that.
pub(super) fn is_impossible(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
        || (cfg!(windows) && error.raw_os_error() == Some(1314))
}
