//! Puts files back that the user checked out while a command ran.
//!
//! It is unknown who created a file under a protected name, so all are renamed. If the current commit changed
//! meanwhile, which no command can do, then a file that is exactly as that commit has it is the user's.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::git::Repository;
use crate::git::committed_file::{CommittedFile, FileKind};
use crate::git::host_git::{GitInput, HostGit};
use crate::protect::after::Rename;
use crate::protect::names;
use crate::verified_path::{self, VerifiedPath};

/// The most files that are compared. The user's are few, and a command may have created millions.
const MAX_FILES: usize = 200;
/// Time limit of all calls of git in one repository.
const GIT_TIME: Duration = Duration::from_secs(5);
/// The longest wait for git that changes the checkout.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// The pause between two looks at the repository. Git moves the current commit after everything else.
const PAUSE: Duration = Duration::from_millis(100);

/// Renamed files after those of the user were put back.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RestoredFiles {
    /// The paths that files which are not the user's were renamed to.
    pub(crate) refused: Vec<PathBuf>,
    /// The paths of the user's files.
    pub(crate) restored: Vec<PathBuf>,
}

/// Puts files back that are as the current commit of their repository has them, if that changed since
/// `began`. `git` is the program; without it nothing is put back.
///
/// The commands that created the files must have ended. Files are written anew, so no program has them open.
pub(crate) fn put_back(git: Option<&Path>, began: SystemTime, renames: &[Rename]) -> RestoredFiles {
    let mut restored = Vec::new();
    if let Some(git) = git {
        for (top, files) in renamed_files(renames) {
            // Files that cannot be compared stay where they are.
            let _ = RenamedFilesOf { git, top: &top, files: &files }.put_back(began, &mut restored);
        }
        for rename in
            renames.iter().filter(|rename| restored.iter().any(|path| path.starts_with(&rename.from)))
        {
            remove_empty(&rename.to);
        }
    }
    let is_left = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    let refused = renames.iter().map(|rename| rename.to.clone()).filter(is_left).collect();
    RestoredFiles { refused, restored }
}

/// A renamed file, or a file in a renamed directory.
struct RenamedFile {
    path: PathBuf,
    /// Its path before anything was renamed.
    original: PathBuf,
}

/// Returns the renamed files by the top of their checkout. Files outside of repositories are left out.
fn renamed_files(renames: &[Rename]) -> BTreeMap<PathBuf, Vec<RenamedFile>> {
    let undo = |path: PathBuf, rename: &Rename| match path.strip_prefix(&rename.to) {
        Ok(rest) if rest.as_os_str().is_empty() => rename.from.clone(),
        Ok(rest) => rename.from.join(rest),
        Err(_) => path,
    };
    let original = |path: &Path| renames.iter().rev().fold(path.to_owned(), undo);
    let mut all: BTreeMap<PathBuf, Vec<RenamedFile>> = BTreeMap::new();
    let mut count = 0;
    // A renamed directory may contain more that was renamed.
    let is_outer = |rename: &&Rename| {
        !renames.iter().any(|other| other.to != rename.to && rename.to.starts_with(&other.to))
    };
    for rename in renames.iter().take(MAX_FILES).filter(is_outer) {
        let first = original(&rename.to);
        let above = first.ancestors().skip(1);
        let top = above.into_iter().find(|above| fs::symlink_metadata(above.join(".git")).is_ok());
        let Some(top) = top else { continue };
        for path in files(&rename.to, MAX_FILES - count) {
            count += 1;
            let original = original(&path);
            all.entry(top.to_owned()).or_default().push(RenamedFile { path, original });
        }
    }
    all
}

/// The renamed files of one checkout.
struct RenamedFilesOf<'a> {
    git: &'a Path,
    top: &'a Path,
    files: &'a [RenamedFile],
}

impl RenamedFilesOf<'_> {
    fn put_back(&self, began: SystemTime, restored: &mut Vec<PathBuf>) -> io::Result<()> {
        let repository = Repository::at(self.top).map_err(io::Error::other)?;
        if !has_moved(&repository, began) {
            return Ok(());
        }
        let git = HostGit::new(self.git, &repository.own, GIT_TIME);
        let below = |path: &'_ Path| Some(path.strip_prefix(&repository.top).ok()?.to_str()?.to_owned());
        let paths: Vec<String> = self.files.iter().filter_map(|file| below(&file.original)).collect();
        let mut arguments = vec!["ls-tree", "-r", "-z", "--full-tree", "HEAD", "--"];
        arguments.extend(paths.iter().map(String::as_str));
        let listing = git.bytes(&arguments, GitInput::Nothing)?;
        let committed: HashMap<&Path, CommittedFile<'_>> = listing
            .split(|byte| *byte == 0)
            .filter_map(committed_file)
            .map(|file| (file.path, file))
            .collect();
        let top = verified_path::open(&repository.top)?;
        for file in self.files {
            let committed =
                file.original.strip_prefix(&repository.top).ok().and_then(|path| committed.get(path));
            let (Some(committed), Ok(here)) = (committed, file.path.strip_prefix(&repository.top)) else {
                continue;
            };
            if committed.is_at(&git, &top, here).unwrap_or(false)
                && write_anew(&git, committed, &file.original, &repository.top).is_ok()
            {
                let _ = remove(&file.path);
                restored.push(file.original.clone());
            }
        }
        Ok(())
    }
}

/// Returns `true` if the current commit of the repository changed since `began`. Waits for a running git.
fn has_moved(repository: &Repository, began: SystemTime) -> bool {
    let start = Instant::now();
    let has_moved = || {
        let log = fs::symlink_metadata(repository.own.join("logs/HEAD"));
        log.and_then(|log| log.modified()).is_ok_and(|modified| modified >= began)
    };
    loop {
        // Git writes the log after it has given up the lock.
        let is_busy = fs::symlink_metadata(repository.own.join("index.lock")).is_ok();
        if is_busy && start.elapsed() < MAX_WAIT {
            std::thread::sleep(PAUSE);
            continue;
        }
        if has_moved() {
            return true;
        }
        std::thread::sleep(PAUSE);
        return has_moved();
    }
}

/// Parses a line of the output of `git ls-tree -r -z`.
fn committed_file(line: &[u8]) -> Option<CommittedFile<'_>> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut fields = std::str::from_utf8(&line[..tab]).ok()?.split(' ');
    let kind = fields.next().and_then(FileKind::of_mode)?;
    let object = fields.nth(1)?;
    Some(CommittedFile { path: Path::new(OsStr::from_bytes(&line[tab + 1..])), kind, object })
}

/// Returns the first files at and below `path`, without following symbolic links.
fn files(path: &Path, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop().filter(|_| found.len() < most) {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                pending.extend(entries.take(most).map(|entry| entry.path()));
            }
            Ok(_) => found.push(path),
            Err(_) => {}
        }
    }
    found
}

/// Creates a file at `place` in the checkout at `top`, as the commit has it. Fails if something is there.
fn write_anew(git: &HostGit, file: &CommittedFile<'_>, place: &Path, top: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let content = git.bytes(&["cat-file", "blob", file.object], GitInput::Nothing)?;
    let above: Vec<&Path> = parent.ancestors().take_while(|directory| *directory != top).collect();
    for directory in above.into_iter().rev() {
        match VerifiedPath::make_directory(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let directory = verified_path::open(parent)?;
    let mode = match file.kind {
        FileKind::Plain => 0o666,
        FileKind::Executable => 0o777,
        FileKind::Link => {
            let target = Path::new(OsStr::from_bytes(&content));
            if !leads_to_protected_name(target) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            return Ok(rustix::fs::symlinkat(target, directory, name)?);
        }
        FileKind::Submodule => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let created = rustix::fs::openat(&directory, name, flags, Mode::from_raw_mode(mode))?;
    let written = File::from(created).write_all(&content);
    if written.is_err() {
        let _ = rustix::fs::unlinkat(&directory, name, AtFlags::empty());
    }
    written
}

/// Removes a file. Fails if its path contains a symbolic link.
fn remove(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    Ok(rustix::fs::unlinkat(verified_path::open(parent)?, name, AtFlags::empty())?)
}

/// Returns `true` if a link's target has a protected name in the same directory: no command can write it.
fn leads_to_protected_name(target: &Path) -> bool {
    let mut parts = target.components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && names::is_protected(target)
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
        directories.extend(entries.take(MAX_FILES).filter(is_directory).map(|entry| entry.path()));
        next += 1;
    }
    for directory in directories.iter().rev() {
        // The system call fails if it is not empty.
        let _ = fs::remove_dir(directory);
    }
}

#[allow(clippy::disallowed_methods, reason = "the tests read what was put back")]
#[cfg(test)]
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
        commit(&root);
        (directory, root)
    }

    /// Makes a repository of a directory, and commits everything in it.
    fn commit(root: &Path) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
            #[allow(clippy::disallowed_methods, reason = "a repository for the test")]
            let mut git = Command::new(GIT);
            assert!(git.current_dir(root).args(identity).args(arguments).status().unwrap().success());
        }
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
        put_back(Some(Path::new(GIT)), SystemTime::UNIX_EPOCH, renames)
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
    fn a_file_with_another_path_or_mode_is_not_put_back() {
        use std::os::unix::fs::PermissionsExt as _;

        let (_directory, root) = repository(&[("AGENTS.md", "mine"), ("CLAUDE.md", "mine"), ("x", "mine")]);
        write(&root, "GEMINI.md", "mine");
        fs::set_permissions(root.join("AGENTS.md"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::hard_link(root.join("CLAUDE.md"), root.join("other")).unwrap();
        let names = ["GEMINI.md", "AGENTS.md", "CLAUDE.md"];
        let renames = names.map(|name| rename(&root, name, &format!("{name}.refused")));
        assert_eq!(put_back(None, SystemTime::UNIX_EPOCH, &renames).refused.len(), 3);
        // The current commit did not change.
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(put_back(Some(Path::new(GIT)), later, &renames).refused.len(), 3);
        let found = put_back_all(&renames);
        assert_eq!(found.restored, [root.join("CLAUDE.md")]);
        assert_eq!(found.refused.len(), 2, "{found:?}");
        // It is another file now.
        fs::write(root.join("other"), "obey").unwrap();
        assert_eq!(fs::read(root.join("CLAUDE.md")).unwrap(), b"mine");
    }

    #[test]
    fn a_link_is_put_back_only_if_it_leads_to_a_protected_name_beside_it() {
        use std::os::unix::fs::symlink;

        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        write(&root, "docs/guide.md", "mine");
        symlink("AGENTS.md", root.join("CLAUDE.md")).unwrap();
        symlink("docs/guide.md", root.join("GEMINI.md")).unwrap();
        commit(&root);
        let names = ["CLAUDE.md", "GEMINI.md"];
        let renames = names.map(|name| rename(&root, name, &format!("{name}.refused")));
        let found = put_back_all(&renames);
        assert_eq!(found.restored, [root.join("CLAUDE.md")]);
        assert_eq!(fs::read_link(root.join("CLAUDE.md")).unwrap(), Path::new("AGENTS.md"));
        assert_eq!(found.refused, [root.join("GEMINI.md.refused")]);
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
