//! Files as a commit has them, compared with files of a checkout.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::host_git::{GitInput, HostGit};
use crate::verified_path;

/// A file as a commit has it.
#[derive(Debug, PartialEq)]
pub(crate) struct CommittedFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) kind: FileKind,
    /// The id of its content.
    pub(crate) object: &'a str,
}

/// The kind of a file in a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FileKind {
    Plain,
    Executable,
    Link,
    /// Another repository.
    Submodule,
}

impl FileKind {
    /// Returns the kind for a mode that git prints.
    pub(crate) fn of_mode(mode: &str) -> Option<Self> {
        Some(match mode {
            "100644" => Self::Plain,
            "100755" => Self::Executable,
            "120000" => Self::Link,
            "160000" => Self::Submodule,
            _ => return None,
        })
    }
}

impl CommittedFile<'_> {
    /// Returns `true` if the file at `path` below `top` is as committed. No symbolic link is followed.
    pub(crate) fn is_at(&self, git: &HostGit, top: &OwnedFd, path: &Path) -> io::Result<bool> {
        let (kind, input) = match self.kind {
            FileKind::Submodule => return Ok(false),
            FileKind::Link => (FileKind::Link, GitInput::Text(link_target(top, path)?)),
            FileKind::Plain | FileKind::Executable => {
                // A pipe without a writer would block.
                let flags = OFlags::RDONLY | OFlags::NONBLOCK;
                let opened = File::from(verified_path::open_below(top.as_fd(), path, flags, Mode::empty())?);
                let metadata = opened.metadata()?;
                if !metadata.is_file() {
                    return Ok(false);
                }
                let is_executable = metadata.permissions().mode() & 0o100 != 0;
                let kind = if is_executable { FileKind::Executable } else { FileKind::Plain };
                (kind, GitInput::File(opened))
            }
        };
        Ok(kind == self.kind && git.text(&["hash-object", "--stdin"], input)?.trim() == self.object)
    }
}

fn link_target(top: &OwnedFd, path: &Path) -> io::Result<String> {
    let (parent, name) = split(top, path)?;
    let target = rustix::fs::readlinkat(parent, name, Vec::new())?;
    target.into_string().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Opens the parent directory of `path`; returns it with the file name.
fn split<'a>(top: &OwnedFd, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            verified_path::open_below(top.as_fd(), parent, flags, Mode::empty())?
        }
        _ => top.try_clone()?,
    };
    Ok((parent, name))
}
