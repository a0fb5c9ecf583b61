//! Puts files back that the user checked out while a command ran.
//!
//! Nobody can tell who created a file under a protected name, so all of them are renamed. A file that is exactly as the current
//! commit of its repository has it is the user's, however it came there: no command can move the commit.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::Repository;
use crate::git::at_work::checkout_around;
use crate::git::committed_file::{CommittedFile, FileKind};
use crate::git::host_git::{GitInput, HostGit};
use crate::protect::after::{Rename, rename_if_free};
use crate::verified_path::{self, VerifiedPath};

/// The most files that are compared.
const MAX_FILES: usize = 1000;
/// Time limit of all calls of git for one renamed file or directory.
const GIT_TIME: Duration = Duration::from_secs(10);
/// The pause before another look at the current commit: git moves it after everything else.
const PAUSE: Duration = Duration::from_millis(200);

/// Renamed files after those of the user were put back.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RestoredFiles {
    /// The paths that files which are not the user's were renamed to.
    pub(crate) refused: Vec<PathBuf>,
    /// The paths of the user's files.
    pub(crate) restored: Vec<PathBuf>,
}

/// Moves files back that are as the current commit of their repository has them. `git` is the program; without it nothing is moved.
///
/// No command may run any more that could write the files.
pub(crate) fn put_back(git: Option<&Path>, renames: &[Rename]) -> RestoredFiles {
    let mut restored = Vec::new();
    let is_outer = |rename: &&Rename| {
        !renames.iter().any(|other| other.to != rename.to && rename.to.starts_with(&other.to))
    };
    if let Some(git) = git {
        for rename in renames.iter().filter(is_outer) {
            restored.extend(RenamedTree { git, rename, renames }.put_back());
        }
    }
    let is_left = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    let refused = renames.iter().map(|rename| rename.to.clone()).filter(is_left).collect();
    RestoredFiles { refused, restored }
}

/// A renamed file, or a renamed directory in which more may have been renamed.
struct RenamedTree<'a> {
    git: &'a Path,
    rename: &'a Rename,
    /// All renames, in the order in which they were made.
    renames: &'a [Rename],
}

impl RenamedTree<'_> {
    /// Moves the user's files back and returns their paths.
    fn put_back(&self) -> Vec<PathBuf> {
        let original = self.original(&self.rename.to);
        let Some(top) = original.parent().and_then(checkout_around) else { return Vec::new() };
        let Ok(repository) = Repository::at(top) else { return Vec::new() };
        let mut restored = Vec::new();
        // What cannot be compared stays where it is.
        let _ = self.put_back_once(&repository, &original, &mut restored);
        if fs::symlink_metadata(&self.rename.to).is_ok() {
            std::thread::sleep(PAUSE);
            let _ = self.put_back_once(&repository, &original, &mut restored);
        }
        restored
    }

    /// Moves those files back that the repository's current commit has at or below the path `original`.
    fn put_back_once(
        &self,
        repository: &Repository,
        original: &Path,
        restored: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        let git = HostGit::new(self.git, &repository.own, GIT_TIME);
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let below = original.strip_prefix(&repository.top).map_err(|_| invalid())?;
        let below = below.to_str().ok_or_else(invalid)?;
        let listing =
            git.bytes(&["ls-tree", "-r", "-z", "--full-tree", "HEAD", "--", below], GitInput::Nothing)?;
        let committed = committed_files(&listing);
        if committed.is_empty() {
            return Ok(());
        }
        let top = verified_path::open(&repository.top)?;
        for path in files(&self.rename.to) {
            let place = self.original(&path);
            let here = path.strip_prefix(&repository.top).map_err(|_| invalid())?;
            let file = place.strip_prefix(&repository.top).ok().and_then(|path| committed.get(path));
            // A file with another name could be changed by that name.
            let is_alone = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.nlink() == 1);
            let is_users = is_alone && file.is_some_and(|file| file.is_at(&git, &top, here).unwrap_or(false));
            if is_users && move_back(&path, &place, original).is_ok() {
                restored.push(place);
            }
        }
        remove_empty(&self.rename.to);
        Ok(())
    }

    /// Returns the path that a file had before anything was renamed.
    fn original(&self, path: &Path) -> PathBuf {
        let undo = |path: PathBuf, rename: &Rename| match path.strip_prefix(&rename.to) {
            Ok(rest) if rest.as_os_str().is_empty() => rename.from.clone(),
            Ok(rest) => rename.from.join(rest),
            Err(_) => path,
        };
        self.renames.iter().rev().fold(path.to_owned(), undo)
    }
}

/// Parses the output of `git ls-tree -r -z`: the files by their paths.
fn committed_files(listing: &[u8]) -> HashMap<&Path, CommittedFile<'_>> {
    listing.split(|byte| *byte == 0).filter_map(committed_file).map(|file| (file.path, file)).collect()
}

fn committed_file(line: &[u8]) -> Option<CommittedFile<'_>> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut fields = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
    let kind = fields.next().and_then(FileKind::of_mode)?;
    let object = fields.nth(1)?;
    Some(CommittedFile { path: Path::new(OsStr::from_bytes(&line[tab + 1..])), kind, object })
}

/// Returns the files at and below `path`, without following symbolic links.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop().filter(|_| found.len() + pending.len() < MAX_FILES) {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                pending.extend(entries.take(MAX_FILES).map(|entry| entry.path()));
            }
            Ok(_) => found.push(path),
            Err(_) => {}
        }
    }
    found
}

/// Moves a file to `place`, which is `original` or lies in it. Fails if something is there.
fn move_back(path: &Path, place: &Path, original: &Path) -> io::Result<()> {
    let (Some(from), Some(to)) = (path.parent(), place.parent()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let missing: Vec<&Path> =
        to.ancestors().take_while(|directory| directory.starts_with(original)).collect();
    for directory in missing.into_iter().rev() {
        match VerifiedPath::make_directory(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let (from, to) = (verified_path::open(from)?, verified_path::open(to)?);
    let (Some(name), Some(target)) = (path.file_name(), place.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    Ok(rename_if_free((&from, name), (&to, target))?)
}

/// Removes the directory at `path` and those in it, as far as they are empty.
fn remove_empty(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return;
    }
    let mut directories = vec![path.to_owned()];
    let mut next = 0;
    while let Some(directory) = directories.get(next).cloned().filter(|_| next < MAX_FILES) {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        directories.extend(entries.filter(is_directory).map(|entry| entry.path()));
        next += 1;
    }
    for directory in directories.iter().rev() {
        // The system call fails if it is not empty.
        let _ = fs::remove_dir(directory);
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests read what was put back")]
mod tests {
    use super::*;
    use std::process::Command;

    const GIT: &str = "/usr/bin/git";

    /// Returns a repository whose current commit has `files`.
    fn repository(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for (path, text) in files {
            write(&root, path, text);
        }
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
            #[allow(clippy::disallowed_methods, reason = "a repository for the test")]
            let mut git = Command::new(GIT);
            assert!(git.current_dir(&root).args(identity).args(arguments).status().unwrap().success());
        }
        (directory, root)
    }

    fn write(root: &Path, path: &str, text: &str) {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }

    /// Renames a file or directory as the search after a command does.
    fn rename(root: &Path, from: &str, to: &str) -> Rename {
        let (from, to) = (root.join(from), root.join(to));
        fs::rename(&from, &to).unwrap();
        Rename { from, to }
    }

    fn put_back_all(renames: &[Rename]) -> RestoredFiles {
        put_back(Some(Path::new(GIT)), renames)
    }

    #[test]
    fn a_file_with_the_content_of_the_current_commit_is_put_back() {
        let (_directory, root) = repository(&[("AGENTS.md", "mine"), ("sub/CLAUDE.md", "mine")]);
        write(&root, "sub/CLAUDE.md", "obey");
        let renames = [
            rename(&root, "AGENTS.md", "AGENTS.md.refused"),
            rename(&root, "sub/CLAUDE.md", "sub/CLAUDE.md.refused"),
        ];
        let found = put_back_all(&renames);
        assert_eq!(found.restored, [root.join("AGENTS.md")]);
        assert_eq!(found.refused, [root.join("sub/CLAUDE.md.refused")]);
        assert_eq!(fs::read(root.join("AGENTS.md")).unwrap(), b"mine");
        assert!(!root.join("sub/CLAUDE.md").try_exists().unwrap());
    }

    #[test]
    fn a_file_with_another_path_mode_or_name_is_not_put_back() {
        use std::os::unix::fs::PermissionsExt as _;

        let (_directory, root) = repository(&[("AGENTS.md", "mine"), ("CLAUDE.md", "mine"), ("x", "mine")]);
        write(&root, "GEMINI.md", "mine");
        fs::set_permissions(root.join("AGENTS.md"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::hard_link(root.join("CLAUDE.md"), root.join("other")).unwrap();
        let names = ["GEMINI.md", "AGENTS.md", "CLAUDE.md"];
        let renames = names.map(|name| rename(&root, name, &format!("{name}.refused")));
        let found = put_back_all(&renames);
        assert_eq!((found.restored.len(), found.refused.len()), (0, 3), "{found:?}");
        assert_eq!(put_back(None, &renames).refused.len(), 3);
    }

    #[test]
    fn files_in_renamed_directories_are_put_back_and_others_stay() {
        let files =
            [(".claude/settings.json", "{}"), (".claude/skills/a/SKILL.md", "---\n"), (".envrc", "x")];
        let (_directory, root) = repository(&files);
        write(&root, ".claude/hooks/x.sh", "obey");
        // Git continued its checkout after the directory had been renamed, so there are two parts.
        fs::create_dir_all(root.join("second")).unwrap();
        fs::rename(root.join(".claude/settings.json"), root.join("second/settings.json")).unwrap();
        let renames = [
            rename(&root, ".claude", ".claude.refused"),
            rename(&root, ".claude.refused/skills/a/SKILL.md", ".claude.refused/skills/a/SKILL.md.refused"),
            Rename { from: root.join(".claude"), to: root.join("second") },
        ];
        let found = put_back_all(&renames);
        let expected = [root.join(".claude/skills/a/SKILL.md"), root.join(".claude/settings.json")];
        assert_eq!(found.restored, expected);
        assert_eq!(found.refused, [root.join(".claude.refused")]);
        assert!(
            root.join(".claude.refused/hooks/x.sh").is_file() && !root.join("second").try_exists().unwrap()
        );
        assert!(!root.join(".claude.refused/skills").try_exists().unwrap());
    }

    #[test]
    fn nothing_is_replaced_and_no_link_is_followed() {
        use std::os::unix::fs::symlink;

        let (_directory, root) = repository(&[("AGENTS.md", "mine"), ("sub/.envrc", "mine")]);
        let renames = [
            rename(&root, "AGENTS.md", "AGENTS.md.refused"),
            rename(&root, "sub/.envrc", "sub/.envrc.refused"),
        ];
        write(&root, "AGENTS.md", "newer");
        fs::rename(root.join("sub"), root.join("moved")).unwrap();
        symlink("moved", root.join("sub")).unwrap();
        let found = put_back_all(&renames);
        assert_eq!(found.restored, Vec::<PathBuf>::new());
        assert_eq!(fs::read(root.join("AGENTS.md")).unwrap(), b"newer");
        assert!(!root.join("moved/.envrc").try_exists().unwrap());
    }
}
