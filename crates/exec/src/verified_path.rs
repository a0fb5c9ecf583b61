//! A path with the device and inode that it had when checked. Opening it later fails if it is another file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::os_text::os_path;

/// The most symbolic links that are followed in one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// A path without symbolic links, and the device and inode that it had when it was checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct VerifiedPath {
    #[serde(with = "os_path")]
    pub(crate) path: PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl VerifiedPath {
    /// Records the device and inode of `path`, which must not contain symbolic links.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(path, &fs::symlink_metadata(path)?))
    }

    /// Records the device and inode of `path` from `metadata`.
    pub(crate) fn of(path: &Path, metadata: &Metadata) -> Self {
        Self { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino() }
    }

    /// Opens the path with `O_PATH` if available. Fails if it is another file now, or has a symbolic link.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        let fd = open(&self.path)?;
        let now = rustix::fs::fstat(&fd)?;
        if !self.is(&now) {
            return Err(io::Error::other("it was replaced meanwhile"));
        }
        Ok(fd)
    }

    fn is(&self, now: &rustix::fs::Stat) -> bool {
        #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
        let numbers = (now.st_dev as u64, now.st_ino as u64);
        numbers == (self.device, self.inode)
    }

    /// Creates an empty directory.
    pub(crate) fn make_directory(path: &Path) -> io::Result<Self> {
        let (parent, name) = split(path)?;
        rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777))?;
        Self::in_directory(&parent, name, path)
    }

    /// Creates an empty file.
    pub(crate) fn make_file(path: &Path) -> io::Result<Self> {
        let (parent, name) = split(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o666))?;
        Self::in_directory(&parent, name, path)
    }

    fn in_directory(parent: &OwnedFd, name: &OsStr, path: &Path) -> io::Result<Self> {
        let now = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
        Ok(Self { path: path.to_owned(), device: now.st_dev as u64, inode: now.st_ino as u64 })
    }

    /// Removes it if it is empty and still the same file. Fails if its path contains a symbolic link now.
    pub(crate) fn remove_if_empty(&self) -> io::Result<()> {
        let (parent, name) = split(&self.path)?;
        let now = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(now.st_mode) {
            _ if !self.is(&now) => {}
            // The system call fails if it is not empty.
            FileType::Directory => rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR)?,
            FileType::RegularFile if now.st_size == 0 => {
                rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Opens the parent directory of `path`; returns it with the file name.
fn split(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((open(parent)?, name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Adds read, write and search permission for a directory's owner. Fails if its path has a symbolic link.
pub(crate) fn make_accessible(directory: &Path) -> io::Result<()> {
    let (parent, name) = split(directory)?;
    let now = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(now.st_mode) != FileType::Directory {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let mode = Mode::from_raw_mode(now.st_mode) | Mode::RWXU;
    chmod(directory, &parent, name, mode)
}

/// Changes a mode through an open file descriptor: the path could lead to another file by now.
#[cfg(target_os = "linux")]
fn chmod(directory: &Path, _: &OwnedFd, _: &OsStr, mode: Mode) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let fd = open(directory)?;
    if FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) != FileType::Directory {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", fd.as_raw_fd()), mode)?)
}

#[cfg(not(target_os = "linux"))]
fn chmod(_: &Path, parent: &OwnedFd, name: &OsStr, mode: Mode) -> io::Result<()> {
    Ok(rustix::fs::chmodat(parent, name, mode, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Returns every symbolic link in an absolute path, and last the resolved path. None need exist.
pub(crate) fn trail(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut at = PathBuf::from("/");
    let mut pending: Vec<OsString> = reversed(path);
    while let Some(name) = pending.pop() {
        match Path::new(&name).components().next() {
            Some(Component::RootDir) => at = PathBuf::from("/"),
            Some(Component::ParentDir) => drop(at.pop()),
            Some(Component::Normal(name)) => {
                at.push(name);
                if found.len() < MAX_LINKS
                    && let Ok(target) = fs::read_link(&at)
                {
                    found.push(at.clone());
                    at.pop();
                    pending.extend(reversed(&target));
                }
            }
            _ => {}
        }
    }
    found.push(at);
    found
}

fn reversed(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|component| component.as_os_str().to_owned()).collect()
}

/// Opens a path without following symbolic links, with `O_PATH` on Linux.
#[cfg(target_os = "linux")]
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{CWD, ResolveFlags, openat2};

    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Some containers refuse the call.
        Err(Errno::NOSYS | Errno::PERM) => open_by_steps(path, flags),
        other => Ok(other?),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    open_by_steps(path, OFlags::CLOEXEC | OFlags::NOFOLLOW)
}

/// Opens a path without following symbolic links, one component at a time.
fn open_by_steps(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let root = rustix::fs::open("/", flags | OFlags::DIRECTORY, Mode::empty())?;
    let below: PathBuf = path.components().skip(1).collect();
    if below.as_os_str().is_empty() {
        return Ok(root);
    }
    let fd = step_below(root.as_fd(), &below, flags, Mode::empty())?;
    if FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::Symlink {
        return Err(Errno::LOOP.into());
    }
    Ok(fd)
}

/// Opens `path` below an open directory, without following symbolic links. It may consist of names only.
pub(crate) fn open_below(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    if path.as_os_str().is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    walk_below(directory, path, flags, mode)
}

#[cfg(target_os = "linux")]
fn walk_below(directory: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};

    // `NO_SYMLINKS` refuses links in all components. Without `NOFOLLOW` the error is `ELOOP` in every case.
    let walked = flags.difference(OFlags::NOFOLLOW);
    match openat2(directory, path, walked, mode, ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH) {
        // Some containers refuse the call, and a concurrent rename makes it fail with `EAGAIN`.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => step_below(directory, path, flags, mode),
        other => Ok(other?),
    }
}

#[cfg(not(target_os = "linux"))]
fn walk_below(directory: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    step_below(directory, path, flags, mode)
}

/// Opens `path` below an open directory, one component at a time.
fn step_below(directory: BorrowedFd<'_>, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let step = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<OwnedFd> = None;
    let mut names = path.components().peekable();
    while let Some(name) = names.next() {
        let parent = at.as_ref().map_or(directory, AsFd::as_fd);
        let name = name.as_os_str();
        let (flags, mode) = if names.peek().is_some() { (step, Mode::empty()) } else { (flags, mode) };
        at = Some(match rustix::fs::openat(parent, name, flags, mode) {
            // Reports a symbolic link as `ELOOP`, to distinguish it from a file in the place of a directory.
            Err(Errno::NOTDIR) if is_link(parent, name) => return Err(Errno::LOOP.into()),
            next => next?,
        });
    }
    at.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn is_link(parent: BorrowedFd<'_>, name: &OsStr) -> bool {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|now| FileType::from_raw_mode(now.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_replaced_path_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let path = root.join("a/b");
        fs::create_dir_all(&path).unwrap();
        fs::create_dir_all(root.join("secret/b")).unwrap();
        let pinned = VerifiedPath::at(&path).unwrap();
        pinned.open().unwrap();
        fs::rename(root.join("a"), root.join("kept")).unwrap();
        pinned.open().unwrap_err();
        // Not even through a symbolic link to the same directory.
        symlink(root.join("kept"), root.join("a")).unwrap();
        pinned.open().unwrap_err();
        open_by_steps(&path, OFlags::CLOEXEC | OFlags::NOFOLLOW).unwrap_err();
        fs::remove_file(root.join("a")).unwrap();
        fs::rename(root.join("secret"), root.join("a")).unwrap();
        pinned.open().unwrap_err();
        open_by_steps(&path, OFlags::CLOEXEC | OFlags::NOFOLLOW).unwrap();
    }

    #[test]
    fn symbolic_links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("in/a")).unwrap();
        fs::write(root.join("in/a/file"), "x").unwrap();
        fs::write(root.join("secret"), "x").unwrap();
        symlink("a", root.join("in/link")).unwrap();
        symlink("../../secret", root.join("in/a/out")).unwrap();
        let top = open(&root.join("in")).unwrap();
        for open in [open_below, step_below] {
            let open = |path: &str| {
                open(top.as_fd(), Path::new(path), OFlags::RDONLY | OFlags::NOFOLLOW, Mode::empty())
            };
            open("a/file").unwrap();
            for path in ["link/file", "a/out"] {
                assert_eq!(
                    open(path).unwrap_err().raw_os_error(),
                    Some(Errno::LOOP.raw_os_error()),
                    "{path}"
                );
            }
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
            let link = step_below(top.as_fd(), Path::new("link"), flags, Mode::empty()).unwrap_err();
            assert_eq!(link.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
            let link = open_below(top.as_fd(), Path::new("link"), flags, Mode::empty()).unwrap_err();
            assert_eq!(link.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
            for path in ["a/file/x", "none/x", "none"] {
                let kind = open(path).unwrap_err().kind();
                assert!(matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory), "{path}");
            }
        }
        for path in ["../secret", "a/../../secret", "/etc/passwd", "", "."] {
            open_below(top.as_fd(), Path::new(path), OFlags::RDONLY, Mode::empty()).unwrap_err();
        }
    }

    #[test]
    fn only_the_created_file_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("out/x")).unwrap();
        fs::create_dir_all(root.join("pkg/empty")).unwrap();
        fs::write(root.join("pkg/__init__.py"), "").unwrap();
        let file = VerifiedPath::make_file(&root.join("out/x/__init__.py")).unwrap();
        let inner = VerifiedPath::make_directory(&root.join("out/x/empty")).unwrap();
        VerifiedPath::make_file(&root.join("out/x/__init__.py")).unwrap_err();
        fs::rename(root.join("out/x"), root.join("out/x2")).unwrap();
        symlink(root.join("pkg"), root.join("out/x")).unwrap();
        file.remove_if_empty().unwrap_err();
        inner.remove_if_empty().unwrap_err();
        VerifiedPath::make_file(&root.join("out/x/new")).unwrap_err();
        assert!(root.join("pkg/__init__.py").is_file() && root.join("pkg/empty").is_dir());
        fs::remove_file(root.join("out/x")).unwrap();
        // Another file of the same name is not removed either.
        fs::rename(root.join("pkg"), root.join("out/x")).unwrap();
        file.remove_if_empty().unwrap();
        assert!(root.join("out/x/__init__.py").is_file());
        fs::remove_dir_all(root.join("out/x")).unwrap();
        fs::rename(root.join("out/x2"), root.join("out/x")).unwrap();
        file.remove_if_empty().unwrap();
        inner.remove_if_empty().unwrap();
        assert!(fs::read_dir(root.join("out/x")).unwrap().next().is_none());
    }

    #[test]
    fn a_trail_has_every_link_and_the_resolved_path() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("a/b", root.join("one")).unwrap();
        symlink("../../one/./c", root.join("a/b/two")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let found: Vec<PathBuf> = ["a/b/two", "one", "a/b/c"].map(|path| root.join(path)).to_vec();
        assert_eq!(trail(&root.join("a/x/../b/two")), found);
        assert!(trail(&root.join("loop")).len() <= MAX_LINKS + 1);
    }

    #[test]
    fn make_accessible_refuses_symbolic_links() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("shut")).unwrap();
        fs::set_permissions(root.join("shut"), fs::Permissions::from_mode(0o044)).unwrap();
        symlink("shut", root.join("link")).unwrap();
        make_accessible(&root.join("link")).unwrap_err();
        let mode = || fs::metadata(root.join("shut")).unwrap().mode() & 0o777;
        assert_eq!(mode(), 0o044);
        make_accessible(&root.join("shut")).unwrap();
        assert_eq!(mode(), 0o744);
    }
}
