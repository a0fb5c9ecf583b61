//! Commits that change files which agents, shells or git obey.
//!
//! A command cannot write such files, but it can commit them, and a `git restore .` would write them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::committed_file::{CommittedFile, FileKind};
use super::host_git::{GitInput, HostGit};
use super::obeyed::ObeyedFiles;
use crate::GitUser;
use crate::verified_path;

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
        if obeyed.contains(file.path) && !file.is_at(git, &directory, file.path).unwrap_or(false) {
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
        let kind = fields.nth(1).and_then(FileKind::of_mode).ok_or_else(invalid)?;
        let object = fields.nth(1).ok_or_else(invalid)?;
        files.push(CommittedFile { path, kind, object });
    }
    Ok(files)
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
