//! Commits that change files which agents, shells or git obey.
//!
//! A command cannot write such files, but it can commit them, and a `git restore .` would write them.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};

use super::host_git::{GitInput, HostGit};
use super::obeyed::ObeyedFiles;
use crate::GitUser;
use crate::verified_path;

/// A file as a commit has it.
#[derive(Debug, PartialEq)]
struct CommittedFile<'a> {
    path: &'a Path,
    kind: FileKind,
    object: &'a str,
}

/// The kind of a file in a commit.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FileKind {
    Absent,
    Plain,
    Executable,
    Link,
    /// Another repository.
    Submodule,
}

/// Returns the first path that differs between the commits `old` and `new`, is obeyed in the checkout at `top`, and is not there already as `new` has
/// it. Every path of `new` differs if there is no old commit.
pub(super) fn first_obeyed_change(
    git: &HostGit,
    top: &Path,
    user: &GitUser,
    old: Option<&str>,
    new: &str,
) -> io::Result<Option<String>> {
    let old = match old {
        Some(old) => old.to_owned(),
        // The empty tree.
        None => git.text(&["hash-object", "-t", "tree", "--stdin"], GitInput::Nothing)?.trim().to_owned(),
    };
    let listing = git.bytes(&["diff-tree", "-r", "-z", "--no-renames", &old, new], GitInput::Nothing)?;
    let obeyed = ObeyedFiles::of(top, user);
    let directory = verified_path::open(top)?;
    for file in changed_files(&listing)? {
        // A file that cannot be compared is taken for a different one.
        if obeyed.contains(file.path) && !is_checked_out(git, &directory, &file).unwrap_or(false) {
            return Ok(Some(file.path.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// Parses the output of `git diff-tree -r -z`: the files as the second tree has them.
fn changed_files(listing: &[u8]) -> io::Result<Vec<CommittedFile<'_>>> {
    let invalid = || io::Error::other("the list of changed files is invalid");
    let mut parts = listing.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    let mut files = Vec::new();
    while let Some(change) = parts.next() {
        let path = Path::new(OsStr::from_bytes(parts.next().ok_or_else(invalid)?));
        let mut fields = std::str::from_utf8(change).map_err(|_| invalid())?.split(' ');
        let kind = match fields.nth(1).ok_or_else(invalid)? {
            "000000" => FileKind::Absent,
            "100644" => FileKind::Plain,
            "100755" => FileKind::Executable,
            "120000" => FileKind::Link,
            "160000" => FileKind::Submodule,
            _ => return Err(invalid()),
        };
        let object = fields.nth(1).ok_or_else(invalid)?;
        files.push(CommittedFile { path, kind, object });
    }
    Ok(files)
}

/// Returns `true` if the checkout at `top` has the file as the commit has it. No symbolic link is followed.
fn is_checked_out(git: &HostGit, top: &OwnedFd, file: &CommittedFile<'_>) -> io::Result<bool> {
    let (kind, input) = match file.kind {
        FileKind::Absent => return is_absent(top, file.path),
        FileKind::Submodule => return Ok(false),
        FileKind::Link => (FileKind::Link, GitInput::Text(link_target(top, file.path)?)),
        FileKind::Plain | FileKind::Executable => {
            // A pipe without a writer would block.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK;
            let opened = File::from(verified_path::open_below(top.as_fd(), file.path, flags, Mode::empty())?);
            let metadata = opened.metadata()?;
            if !metadata.is_file() {
                return Ok(false);
            }
            let is_executable = metadata.permissions().mode() & 0o100 != 0;
            let kind = if is_executable { FileKind::Executable } else { FileKind::Plain };
            (kind, GitInput::File(opened))
        }
    };
    Ok(kind == file.kind && git.text(&["hash-object", "--stdin"], input)?.trim() == file.object)
}

/// Returns `true` if there is nothing at `path`.
fn is_absent(top: &OwnedFd, path: &Path) -> io::Result<bool> {
    let (parent, name) = match split(top, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        split => split?,
    };
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => Ok(true),
        found => found.map(|_| false).map_err(Into::into),
    }
}

/// Returns the target of the symbolic link at `path`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_diff_tree_is_parsed() {
        let listing =
            b":100644 000000 aa 00 D\0.claude/x\xff.md\0:000000 120000 00 bb A\0CLAUDE.md\0".as_slice();
        let path = Path::new(OsStr::from_bytes(b".claude/x\xff.md"));
        let deleted = CommittedFile { path, kind: FileKind::Absent, object: "00" };
        let added = CommittedFile { path: Path::new("CLAUDE.md"), kind: FileKind::Link, object: "bb" };
        assert_eq!(changed_files(listing).unwrap(), [deleted, added]);
        for invalid in [&b":100644\0x\0"[..], b":100644 100644 aa bb M\0", b": 1 2 3\0x\0"] {
            assert!(changed_files(invalid).is_err());
        }
    }
}
