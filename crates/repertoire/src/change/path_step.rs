//! The steps of a change that are not about the files of a skill.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::leftovers::remove_leftovers;
use super::replace_file::{FileKind, MAX_FILE_BYTES, check_user_file, read_file, replace_file, sync};
use crate::{Error, ErrorKind};

/// A step of a change: of a file, a link or a directory, with its state before and after. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathStep {
    /// A file of this program, such as a lock, which is replaced as [`FileKind::Record`].
    Record(FileStep),
    /// A file that people and other programs edit, which is replaced as [`FileKind::User`].
    UserFile(FileStep),
    /// A link.
    Link {
        /// Its path.
        path: PathBuf,
        /// Its text as it is; none if nothing is there.
        before: Option<PathBuf>,
        /// Its text as it will be; none if it is removed.
        after: Option<PathBuf>,
    },
    /// A directory that is moved to where nothing is.
    Move {
        /// Its path as it is.
        from: PathBuf,
        /// Its path as it will be.
        to: PathBuf,
    },
}

/// The texts of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStep {
    /// Its path.
    pub path: PathBuf,
    /// Its text as it is; none if it is not there.
    pub before: Option<String>,
    /// Its text as it will be; none if it is removed.
    pub after: Option<String>,
}

impl PathStep {
    /// Returns the step that makes the link at `path`, where nothing is.
    pub fn make_link(path: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        Self::Link { path: path.into(), before: None, after: Some(to.into()) }
    }

    /// Returns the step that removes the link at `path`, which says `to`.
    pub fn remove_link(path: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        Self::Link { path: path.into(), before: Some(to.into()), after: None }
    }

    /// Returns the path that it is about; of a move, the one that it leads to.
    pub fn path(&self) -> &Path {
        match self {
            Self::Record(FileStep { path, .. }) | Self::UserFile(FileStep { path, .. }) => path,
            Self::Link { path, .. } | Self::Move { to: path, .. } => path,
        }
    }

    /// Returns the step that takes this one back.
    pub(super) fn reversed(&self) -> Self {
        let file = |FileStep { path, before, after }: &FileStep| FileStep {
            path: path.clone(),
            before: after.clone(),
            after: before.clone(),
        };
        match self {
            Self::Record(step) => Self::Record(file(step)),
            Self::UserFile(step) => Self::UserFile(file(step)),
            Self::Link { path, before, after } => {
                Self::Link { path: path.clone(), before: after.clone(), after: before.clone() }
            }
            Self::Move { from, to } => Self::Move { from: to.clone(), to: from.clone() },
        }
    }

    /// Fails if it is about a file that is not as before, or may not be written.
    pub(super) fn expect_file(&self) -> Result<(), Error> {
        match self {
            Self::Record(file) if !self.is_ready()? => Err(Error::new(ErrorKind::FileChanged).at(&file.path)),
            Self::UserFile(file) => check_user_file(&file.path, file.before.as_deref()),
            _ => Ok(()),
        }
    }

    /// Returns `true` if everything is as before the step.
    pub(super) fn is_ready(&self) -> Result<bool, Error> {
        Ok(match self {
            Self::Record(file) | Self::UserFile(file) => {
                let found = read_file(&file.path, MAX_FILE_BYTES)?;
                found.as_deref() == file.before.as_deref().map(str::as_bytes)
            }
            Self::Link { path, before: None, .. } => is_absent(path),
            Self::Link { path, before: Some(to), .. } => fs::read_link(path).is_ok_and(|found| found == *to),
            Self::Move { from, to } => {
                from.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) && is_absent(to)
            }
        })
    }

    /// Takes the step. It survives a power failure once the directories of [`PathStep::sync`] are synced.
    pub(super) fn take(&self) -> Result<(), Error> {
        match self {
            Self::Record(FileStep { path, after, .. }) => {
                replace_file(path, FileKind::Record, after.as_deref().map(str::as_bytes))
            }
            Self::UserFile(FileStep { path, before, after }) => {
                make_parent(path)?;
                let kind = FileKind::User { before: before.as_deref().map(str::as_bytes) };
                replace_file(path, kind, after.as_deref().map(str::as_bytes))
            }
            Self::Link { path, before, after } => {
                if !self.is_ready()? {
                    let kind =
                        if before.is_none() { ErrorKind::AlreadyThere } else { ErrorKind::FileChanged };
                    return Err(Error::new(kind).at(path));
                }
                if before.is_some() {
                    remove_link(path).map_err(|error| Error::io("remove", path, error))?;
                }
                let Some(to) = after else { return Ok(()) };
                make_parent(path)?;
                make_link(to, path).map_err(|error| Error::io("make", path, error))
            }
            Self::Move { from, to } => {
                make_parent(to)?;
                // An empty directory would give way to the other one without a word.
                if !is_absent(to) {
                    return Err(Error::new(ErrorKind::AlreadyThere).at(to));
                }
                move_directory(from, to).map_err(|error| Error::io("move", from, error))
            }
        }
    }

    /// Takes the step if everything is as before it: otherwise it was taken already, or others changed what
    /// it is about. The temporary files of a writer that was killed are removed.
    pub(super) fn take_if_ready(&self) -> Result<(), Error> {
        if let Self::Record(file) | Self::UserFile(file) = self {
            remove_leftovers(&file.path.canonicalize().unwrap_or_else(|_| file.path.clone()));
        }
        if self.is_ready()? { self.take() } else { Ok(()) }
    }

    /// Makes a link or a move survive a power failure.
    pub(super) fn sync(&self) {
        let paths = match self {
            Self::Record(_) | Self::UserFile(_) => Vec::new(),
            Self::Link { path, .. } => vec![path],
            Self::Move { from, to } => vec![from, to],
        };
        for directory in paths.into_iter().filter_map(|path| path.parent()) {
            // Some directories cannot be opened.
            let _ = sync(directory);
        }
    }
}

/// Returns `true` if links can be made in `directory`, or will be once it is made: not every file system and
/// user can.
pub fn can_link(directory: &Path) -> bool {
    is_possible(directory, "link", |path| make_link(Path::new("x"), path), remove_link)
}

/// Returns `true` if directories can be made in `directory`, or will be once it is made.
pub fn can_write(directory: &Path) -> bool {
    is_possible(directory, "write", |path| fs::create_dir(path), |path| fs::remove_dir(path))
}

/// Returns `true` if `make` works in the directory nearest to `directory`; `remove` removes what it or a
/// killed process made.
fn is_possible(
    directory: &Path,
    word: &str,
    make: impl Fn(&Path) -> io::Result<()>,
    remove: impl Fn(&Path) -> io::Result<()>,
) -> bool {
    let there = directory.ancestors().find(|above| above.symlink_metadata().is_ok());
    let Some(there) = there.filter(|there| there.is_dir()) else { return false };
    let path = there.join(format!(".rep-staging-{word}"));
    let is_there = make(&path).map_or_else(|error| error.kind() == io::ErrorKind::AlreadyExists, |()| true);
    is_there && remove(&path).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true)
}

/// Moves the directory `from` to `to`, where nothing is, also to another file system.
pub(super) fn move_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        outcome => return outcome,
    }
    let mut name = std::ffi::OsString::from(".rep-staging-move-");
    name.push(to.file_name().unwrap_or_default());
    let copy = to.with_file_name(name);
    match fs::remove_dir_all(&copy) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => copy_directory(from, &copy)?,
    }
    fs::rename(&copy, to)?;
    fs::remove_dir_all(from)
}

/// Copies the directory `from` to `to`, where nothing is, with everything in it but sockets and the like.
fn copy_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for child in fs::read_dir(from)? {
        let child = child?;
        let (path, copy, kind) = (child.path(), to.join(child.file_name()), child.file_type()?);
        if kind.is_symlink() {
            make_link(&fs::read_link(&path)?, &copy)?;
        } else if kind.is_dir() {
            copy_directory(&path, &copy)?;
        } else if kind.is_file() {
            // To open anything else may take for ever.
            fs::copy(&path, &copy)?;
        }
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn make_parent(path: &Path) -> Result<(), Error> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| Error::io("make", parent, error))
}

#[cfg(unix)]
fn make_link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

#[cfg(windows)]
fn make_link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(to, path)
}

#[cfg(not(any(unix, windows)))]
fn make_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn remove_link(path: &Path) -> io::Result<()> {
    if cfg!(windows) { fs::remove_dir(path) } else { fs::remove_file(path) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_behind_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let left = base.path().join(".rep-staging-link");
        std::os::unix::fs::symlink("x", &left).unwrap();
        assert!(can_link(&base.path().join("deep/down")) && is_absent(&left));
        assert!(can_link(base.path()) && can_write(base.path()));
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn of_a_directory_everything_is_copied_that_can_be_read() {
        let base = tempfile::tempdir().unwrap();
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::write(from.join("deep/.hidden"), "x").unwrap();
        std::os::unix::fs::symlink("nowhere", from.join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
        copy_directory(&from, &to).unwrap();
        assert_eq!(fs::metadata(to.join("deep/.hidden")).unwrap().len(), 1);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("nowhere"));
        assert!(is_absent(&to.join("socket")));
    }
}
