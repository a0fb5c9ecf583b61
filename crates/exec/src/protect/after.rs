//! Renames files that a command created under protected names such as `AGENTS.md`. Runs after the command.
//!
//! Nothing is deleted, because it could have been created by somebody else meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use crate::launcher::run_tag;
use crate::protect::listing::{Budget, ListingError, ProtectedListing};
use crate::protect::names;
use crate::protect::writable::WritableGrant;
use crate::verified_path;

/// Time limit of the search after one command.
const SWEEP_TIME: Duration = Duration::from_secs(20);
/// The most entries that are checked in one granted directory.
const MAX_ENTRIES: usize = 1 << 22;
/// The most paths that are reported as not checked or not renamed.
const MAX_LEFT: usize = 100;

/// The suffix of a renamed file.
const REFUSED: &str = "refused";
/// The most new names that are tried.
const MAX_NAMES: usize = 64;
/// The longest name of a file, in bytes.
const MAX_NAME: usize = 255;
/// The most passes of renaming: a new name may be another protected path.
const MAX_ROUNDS: usize = 8;

/// A file or directory that was renamed because of its protected name.
#[derive(Debug, PartialEq)]
pub(crate) struct Rename {
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
}

/// The result of the search after a command.
#[derive(Debug, Default)]
pub(crate) struct RenamedFiles {
    /// Files that were created under protected names, in the order in which they were renamed.
    pub(crate) refused: Vec<Rename>,
    /// Paths that could not be checked or renamed.
    pub(crate) left: Vec<PathBuf>,
    /// A time at which the command had ended.
    ended: Option<SystemTime>,
}

/// The symbolic links under protected names in `granted`, with their targets. Some sandboxes cannot keep a
/// command from removing them.
pub(crate) fn links(granted: &[WritableGrant]) -> Vec<(PathBuf, PathBuf)> {
    let entries = granted.iter().flat_map(|grant| &grant.protected).filter(|(_, entry)| entry.is_link);
    entries.filter_map(|(path, _)| Some((path.clone(), fs::read_link(path).ok()?))).collect()
}

/// A symbolic link that a command removed.
#[derive(Debug, PartialEq)]
pub(crate) struct RemovedLink {
    pub(crate) path: PathBuf,
    /// `true` if it is there again.
    pub(crate) is_restored: bool,
}

/// Restores the `links` that are gone, and returns them. A parent that is a link by now is not followed.
pub(crate) fn restore(links: Vec<(PathBuf, PathBuf)>) -> Vec<RemovedLink> {
    let restored = links.into_iter().filter_map(|(path, target)| {
        let is_restored = match restore_link(&path, &target) {
            Ok(false) => return None,
            restored => restored.is_ok(),
        };
        Some(RemovedLink { path, is_restored })
    });
    restored.collect()
}

/// Creates the symbolic link at `path` if nothing is there, and returns `true` if it did.
fn restore_link(path: &Path, target: &Path) -> io::Result<bool> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = verified_path::open(parent)?;
    match rustix::fs::symlinkat(target, parent, name) {
        Err(Errno::EXIST) => Ok(false),
        made => made.map(|()| true).map_err(Into::into),
    }
}

/// Renames files and directories that a command created under protected names.
pub(crate) fn sweep(granted: &[WritableGrant]) -> RenamedFiles {
    sweep_until(granted, None, Instant::now() + SWEEP_TIME)
}

/// Does the same for a command that ended before `ended`, some time ago. Files born later are left alone.
pub(crate) fn sweep_late(granted: &[WritableGrant], ended: SystemTime) -> RenamedFiles {
    sweep_until(granted, Some(ended), Instant::now() + SWEEP_TIME)
}

fn sweep_until(granted: &[WritableGrant], ended: Option<SystemTime>, until: Instant) -> RenamedFiles {
    let mut renames = RenamedFiles { ended, ..RenamedFiles::default() };
    for writable in granted {
        renames.rename_at_top(writable);
        renames.walk(writable, until);
        renames.rename_by_path(writable);
    }
    renames
}

impl RenamedFiles {
    #[cfg(test)]
    pub(crate) fn new_paths(&self) -> Vec<PathBuf> {
        self.refused.iter().map(|rename| rename.to.clone()).collect()
    }

    /// Checks every name below the grant, also in directories that are renamed.
    fn walk(&mut self, writable: &WritableGrant, until: Instant) {
        let top = &writable.pinned.path;
        let mut budget = Budget::new(MAX_ENTRIES, until);
        let mut pending = Vec::new();
        if let Ok(metadata) = fs::symlink_metadata(top) {
            pending.extend(metadata.is_dir().then(|| top.clone()));
        }
        while let Some(directory) = pending.pop() {
            let listing = match listed(&directory, &mut budget) {
                Ok(listing) => listing,
                Err(ListingError::Gone) => continue,
                Err(ListingError::Spent) => {
                    return [directory].into_iter().chain(pending).for_each(|path| self.leave(path));
                }
                Err(ListingError::Denied | ListingError::Failed) => {
                    self.leave(directory);
                    continue;
                }
            };
            let head = listing.head.as_ref().filter(|_| listing.is_git);
            if let Some(head) = head.map(|head| listing.path(head)) {
                let metadata = fs::symlink_metadata(&head);
                if !metadata.is_ok_and(|metadata| self.is_users(writable, &head, &metadata)) {
                    self.rename(writable, head);
                }
            }
            for entry in listing.entries.iter().filter(|entry| head != Some(&entry.name)) {
                let path = listing.path(&entry.name);
                if self.is_users(writable, &path, &entry.metadata) {
                    continue;
                }
                if entry.is_protected && Instant::now() >= until {
                    self.leave(directory.clone());
                    break;
                }
                let path = if entry.is_protected { self.rename(writable, path) } else { path };
                if entry.metadata.is_dir() {
                    pending.push(path);
                }
            }
        }
    }

    /// Looks up the protected names at the top of the grant, before anything is listed: a command may have
    /// created millions of files there.
    fn rename_at_top(&mut self, writable: &WritableGrant) {
        for path in names::PROTECTED.iter().map(|name| writable.pinned.path.join(name)) {
            let metadata = fs::symlink_metadata(&path);
            if metadata.is_ok_and(|metadata| !self.is_users(writable, &path, &metadata)) {
                self.rename(writable, path);
            }
        }
    }

    /// Returns whether a file or directory with a protected name is not the command's.
    fn is_users(&self, writable: &WritableGrant, path: &Path, metadata: &fs::Metadata) -> bool {
        let is_later = |ended: SystemTime| metadata.created().is_ok_and(|born| born > ended);
        writable.is_users(path, metadata) || self.ended.is_some_and(is_later)
    }

    /// Records a path that could not be checked or renamed.
    fn leave(&mut self, path: PathBuf) {
        if self.left.len() < MAX_LEFT {
            self.left.push(path);
        }
    }

    /// Renames new files at paths that are protected for another reason than their name.
    fn rename_by_path(&mut self, writable: &WritableGrant) {
        for _ in 0..MAX_ROUNDS {
            let is_new = |path: &&PathBuf| {
                fs::symlink_metadata(path).is_ok_and(|metadata| !self.is_users(writable, path, &metadata))
            };
            let new: Vec<PathBuf> = writable.also_protected.iter().filter(is_new).cloned().collect();
            let before = self.refused.len();
            for path in new.into_iter().filter(|path| !self.left.contains(path)).collect::<Vec<_>>() {
                self.rename(writable, path);
            }
            if self.refused.len() == before {
                return;
            }
        }
        self.leave(writable.pinned.path.clone());
    }

    /// Renames a file or directory within its parent; returns its path afterwards.
    fn rename(&mut self, writable: &WritableGrant, path: PathBuf) -> PathBuf {
        let is_top = path == writable.pinned.path;
        match if is_top { Err(io::ErrorKind::InvalidInput.into()) } else { renamed(&path) } {
            Ok(now) => {
                self.refused.push(Rename { from: path, to: now.clone() });
                now
            }
            Err(_) => {
                self.leave(path.clone());
                path
            }
        }
    }
}

/// Lists a directory. If permissions forbid that, they are changed first.
fn listed(directory: &Path, budget: &mut Budget) -> Result<ProtectedListing, ListingError> {
    match ProtectedListing::of(directory, budget) {
        Err(ListingError::Denied) => {
            verified_path::make_accessible(directory).map_err(|_| ListingError::Denied)?;
            ProtectedListing::of(directory, budget)
        }
        other => other,
    }
}

/// Renames a file or directory within its parent; returns its new path.
pub(super) fn renamed(path: &Path) -> io::Result<PathBuf> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // Does not follow a symbolic link that was created since.
    let directory = verified_path::open(parent)?;
    let kind = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
    let is_plain = matches!(FileType::from_raw_mode(kind), FileType::RegularFile | FileType::Directory);
    let mut error = io::Error::from(io::ErrorKind::AlreadyExists);
    let mut is_long = false;
    for number in 0..MAX_NAMES {
        // The new name of a link or a pipe must not be predictable for the command.
        let is_known = is_plain && number == 0;
        let target = new_name(name, is_known, is_long);
        match rename_if_free((&directory, name), (&directory, &target)) {
            Ok(()) => return Ok(path.with_file_name(target)),
            Err(Errno::ACCESS) if number == 0 => verified_path::make_accessible(parent)?,
            Err(Errno::NAMETOOLONG) => is_long = true,
            Err(Errno::EXIST) => {}
            Err(other) => error = other.into(),
        }
    }
    Err(error)
}

/// Returns a new name: the old one with a suffix, or a short random one if that would be too long.
fn new_name(name: &OsStr, is_known: bool, is_long: bool) -> OsString {
    let mut target = name.to_owned();
    target.push(format!(".{REFUSED}"));
    let random = format!("-{:016x}", run_tag::random());
    if !is_known {
        target.push(&random);
    }
    let shown = name.to_string_lossy();
    let is_again = shown.starts_with(REFUSED) || shown.contains(&format!(".{REFUSED}"));
    if is_long || is_again || target.len() > MAX_NAME { format!("{REFUSED}{random}").into() } else { target }
}

/// Renames an entry of a directory to an entry of the same or another directory, unless that exists.
#[cfg(target_os = "linux")]
pub(super) fn rename_if_free(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr)) -> rustix::io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};

    match renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        // Not every file system supports the flag.
        Err(Errno::INVAL | Errno::NOSYS) => rename_after_check(from, to),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn rename_if_free(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr)) -> rustix::io::Result<()> {
    rename_after_check(from, to)
}

fn rename_after_check(from: (&OwnedFd, &OsStr), to: (&OwnedFd, &OsStr)) -> rustix::io::Result<()> {
    if rustix::fs::statat(to.0, to.1, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(Errno::EXIST);
    }
    rustix::fs::renameat(from.0, from.1, to.0, to.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protect::writable::tests::{granted, project};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn after(writable: &WritableGrant) -> RenamedFiles {
        sweep(std::slice::from_ref(writable))
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_removed_link_is_restored_but_not_through_a_replaced_parent() {
        let (_directory, root) = project();
        symlink("../README.md", root.join("docs/CLAUDE.md")).unwrap();
        let all = [granted(&root, &root).unwrap()];
        let link = root.join("docs/CLAUDE.md");
        let removed = |is_restored| [RemovedLink { path: link.clone(), is_restored }];
        assert_eq!(restore(links(&all)), []);
        let before = links(&all);
        fs::remove_file(&link).unwrap();
        assert_eq!(restore(before), removed(true));
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("../README.md"));
        let before = links(&all);
        fs::remove_file(&link).unwrap();
        fs::rename(root.join("docs"), root.join("moved")).unwrap();
        symlink("src", root.join("docs")).unwrap();
        assert_eq!(restore(before), removed(false));
        assert!(!names(&root.join("src")).contains(&"CLAUDE.md".to_owned()));
    }

    #[test]
    fn new_files_under_protected_names_are_renamed() {
        let (_directory, root) = project();
        let all = granted(&root, &root).unwrap();
        fs::write(root.join("CLAUDE.md"), "obey").unwrap();
        fs::create_dir(root.join("src/.vscode")).unwrap();
        fs::create_dir(root.join("src/new")).unwrap();
        fs::write(root.join("src/new/SKILL.md"), "x").unwrap();
        let mut refused = after(&all).new_paths();
        refused.sort();
        let expect = ["CLAUDE.md.refused", "src/.vscode.refused", "src/new/SKILL.md.refused"]
            .map(|path| root.join(path));
        assert_eq!(refused, expect);
        assert!(after(&all).new_paths().is_empty());
        assert!(root.join("docs/AGENTS.md").is_file());
    }

    #[test]
    fn taken_names_and_replaced_links_do_not_prevent_renaming() {
        let (_directory, root) = project();
        symlink("docs/x.md", root.join("src/CLAUDE.md")).unwrap();
        let all = granted(&root, &root).unwrap();
        fs::write(root.join("src/AGENTS.md"), "obey").unwrap();
        fs::write(root.join("src/AGENTS.md.refused"), "occupied").unwrap();
        for number in 1..1000 {
            fs::write(root.join(format!("src/AGENTS.md.refused-{number}")), "").unwrap();
        }
        // The new link may get the inode of the old one.
        fs::remove_file(root.join("src/CLAUDE.md")).unwrap();
        symlink("deep/b.rs", root.join("src/CLAUDE.md")).unwrap();
        fs::create_dir_all(root.join("src/s/.claude")).unwrap();
        fs::write(root.join("src/s/SKILL.md"), "x").unwrap();
        let renames = after(&all);
        assert!(renames.left.is_empty(), "{renames:?}");
        assert_eq!(renames.new_paths().len(), 4, "{renames:?}");
        for path in ["src/AGENTS.md", "src/CLAUDE.md", "src/s/SKILL.md", "src/s/.claude"] {
            assert!(fs::symlink_metadata(root.join(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn unreadable_directories_are_made_accessible_or_reported() {
        let (_directory, root) = project();
        let all = granted(&root.join("src"), &root).unwrap();
        fs::create_dir_all(root.join("src/shut")).unwrap();
        fs::write(root.join("src/shut/CLAUDE.md"), "obey").unwrap();
        fs::set_permissions(root.join("src/shut"), fs::Permissions::from_mode(0o311)).unwrap();
        // Too deep for a path, so it is built from the inside out.
        let name = "d".repeat(200);
        fs::create_dir(root.join("src/chain")).unwrap();
        for _ in 0..30 {
            fs::create_dir(root.join("src/outer")).unwrap();
            fs::rename(root.join("src/chain"), root.join("src/outer").join(&name)).unwrap();
            fs::rename(root.join("src/outer"), root.join("src/chain")).unwrap();
        }
        let renames = after(&all);
        assert_eq!(renames.new_paths(), [root.join("src/shut/CLAUDE.md.refused")]);
        assert_eq!(renames.left.len(), 1, "{renames:?}");
        crate::scratch::remove(&root.join("src/chain")).unwrap();
    }

    #[test]
    fn a_new_git_directory_is_disabled() {
        let (_directory, root) = project();
        fs::create_dir(root.join("src/refs")).unwrap();
        let all = granted(&root.join("src"), &root).unwrap();
        for path in ["objects", ".git/objects", ".git/refs", "w", "deep/.Git/x"] {
            fs::create_dir_all(root.join("src").join(path)).unwrap();
        }
        for path in ["HEAD", ".git/HEAD", "w/HEAD", "w/commondir"] {
            fs::write(root.join("src").join(path), "ref: refs/heads/main").unwrap();
        }
        let renames = after(&all);
        assert!(renames.left.is_empty(), "{renames:?}");
        let mut refused = renames.new_paths();
        refused.sort();
        let expect = [
            ".git.refused",
            ".git.refused/HEAD.refused",
            "HEAD.refused",
            "deep/.Git.refused",
            "w/HEAD.refused",
        ];
        assert_eq!(refused, expect.map(|path| root.join("src").join(path)));
        assert!(after(&all).new_paths().is_empty());
    }

    #[test]
    fn files_that_existed_before_are_left_alone() {
        let (_directory, root) = project();
        fs::create_dir_all(root.join("sub/.claude")).unwrap();
        fs::write(root.join("sub/AGENTS.md"), "rules").unwrap();
        symlink("docs/x.md", root.join("GEMINI.md")).unwrap();
        let all = granted(&root, &root).unwrap();
        // A directory that was renamed, and a file that an editor replaced.
        fs::rename(root.join("sub"), root.join("moved")).unwrap();
        fs::write(root.join("docs/saved"), "edited").unwrap();
        fs::rename(root.join("docs/saved"), root.join("docs/AGENTS.md")).unwrap();
        fs::write(root.join("moved/CLAUDE.md"), "obey").unwrap();
        // A link that was moved leads elsewhere.
        fs::rename(root.join("GEMINI.md"), root.join("src/GEMINI.md")).unwrap();
        let refused = after(&all).new_paths();
        assert_eq!(refused.len(), 2, "{refused:?}");
        assert!(fs::symlink_metadata(root.join("src/GEMINI.md")).is_err());
        assert_eq!(names(&root.join("moved")), [".claude", "AGENTS.md", "CLAUDE.md.refused"]);
        assert_eq!(names(&root.join("docs")), ["AGENTS.md", "x.md"]);
    }

    #[test]
    fn a_late_sweep_leaves_younger_files_alone() {
        let (_directory, root) = project();
        let all = granted(&root, &root).unwrap();
        fs::write(root.join("src/CLAUDE.md"), "obey").unwrap();
        let born = fs::metadata(root.join("src/CLAUDE.md")).unwrap().created().unwrap();
        let before = born - Duration::from_secs(1);
        assert!(sweep_late(std::slice::from_ref(&all), before).new_paths().is_empty());
        let renames = sweep_late(std::slice::from_ref(&all), born);
        assert_eq!(renames.new_paths(), [root.join("src/CLAUDE.md.refused")]);
    }

    #[test]
    fn a_moved_repository_keeps_its_content() {
        let (_directory, root) = project();
        for path in ["src/sub/.git/objects", "src/sub/.git/refs"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("src/sub/.git/HEAD"), "ref: refs/heads/main").unwrap();
        let all = granted(&root, &root).unwrap();
        fs::rename(root.join("src/sub"), root.join("src/moved")).unwrap();
        assert!(after(&all).new_paths().is_empty());
        assert!(root.join("src/moved/.git/HEAD").is_file());
    }

    #[test]
    fn a_reused_inode_of_a_removed_link_hides_nothing() {
        let (_directory, root) = project();
        symlink("docs/x.md", root.join("CLAUDE.md")).unwrap();
        let mut all = granted(&root, &root).unwrap();
        fs::remove_file(root.join("CLAUDE.md")).unwrap();
        for path in ["tools/objects", "tools/refs", "tools/sub/.claude"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for path in ["tools/HEAD", "tools/AGENTS.md"] {
            fs::write(root.join(path), "obey").unwrap();
        }
        // Some file systems reuse inodes.
        let inode = fs::metadata(root.join("tools")).unwrap().ino();
        all.protected.get_mut(&root.join("CLAUDE.md")).unwrap().pinned.inode = inode;
        let mut refused = after(&all).new_paths();
        refused.sort();
        let expect = ["AGENTS.md.refused", "HEAD.refused", "sub/.claude.refused"];
        assert_eq!(refused, expect.map(|path| root.join("tools").join(path)));
    }

    #[test]
    fn nested_protected_names_are_renamed_in_one_sweep() {
        let (_directory, root) = project();
        let all = granted(&root.join("src"), &root).unwrap();
        let mut path = root.join("src");
        for _ in 0..100 {
            path.push(".claude");
        }
        fs::create_dir_all(&path).unwrap();
        let renames = after(&all);
        assert_eq!((renames.new_paths().len(), renames.left.len()), (100, 0));
        assert!(after(&all).new_paths().is_empty());
    }

    #[test]
    fn new_targets_of_links_and_settings_are_renamed() {
        let (_directory, root) = project();
        fs::write(root.join(".git/config"), "[core]\n\thooksPath = tools/hooks\n").unwrap();
        symlink("docs/one", root.join("CLAUDE.md")).unwrap();
        symlink("docs/one.refused", root.join("GEMINI.md")).unwrap();
        symlink("deep/b.rs", root.join("src/link")).unwrap();
        symlink("src/link", root.join("QWEN.md")).unwrap();
        let all = granted(&root, &root).unwrap();
        assert!(after(&all).new_paths().is_empty());
        fs::create_dir_all(root.join("tools/hooks")).unwrap();
        fs::write(root.join("docs/one"), "obey").unwrap();
        fs::remove_file(root.join("src/link")).unwrap();
        symlink("a.rs", root.join("src/link")).unwrap();
        let renames = after(&all);
        assert!(renames.left.is_empty(), "{renames:?}");
        for path in ["docs/one", "docs/one.refused", "tools/hooks", "src/link"] {
            assert!(fs::symlink_metadata(root.join(path)).is_err(), "{path} {renames:?}");
        }
        assert!(root.join("docs/AGENTS.md").is_file() && root.join("src/deep/b.rs").is_file());
    }

    #[test]
    fn new_names_are_short_and_those_of_links_random() {
        let (_directory, root) = project();
        let name = format!("{}.md", "n".repeat(252));
        fs::write(root.join("src").join(&name), "").unwrap();
        let now = renamed(&root.join("src").join(&name)).unwrap();
        assert!(now.file_name().unwrap().len() < 32, "{now:?}");
        fs::remove_file(now).unwrap();
        fs::write(root.join("src/x"), "").unwrap();
        assert_eq!(renamed(&root.join("src/x")).unwrap(), root.join("src/x.refused"));
        let again = renamed(&root.join("src/x.refused")).unwrap();
        assert_eq!(renamed(&again).unwrap().as_os_str().len(), again.as_os_str().len());
        symlink("a.rs", root.join("src/CLAUDE.md")).unwrap();
        let now = renamed(&root.join("src/CLAUDE.md")).unwrap();
        assert!(now.to_str().unwrap().starts_with(root.join("src/CLAUDE.md.refused-").to_str().unwrap()));
    }

    #[test]
    fn pipes_that_git_would_read_are_renamed() {
        let (_directory, root) = project();
        let pipe = |path: &str| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, root.join("src").join(path), FileType::Fifo, mode, 0)
                .unwrap();
        };
        pipe(".mailmap");
        let all = granted(&root.join("src"), &root).unwrap();
        pipe(".gitignore");
        pipe("deep/.gitattributes");
        pipe("plain");
        fs::write(root.join("src/deep/.gitignore"), "x").unwrap();
        let renames = after(&all);
        assert_eq!((renames.new_paths().len(), renames.left.len()), (2, 0), "{renames:?}");
        for path in [".mailmap", "plain", "deep/.gitignore"] {
            fs::symlink_metadata(root.join("src").join(path)).unwrap();
        }
        assert!(!names(&root.join("src")).contains(&".gitignore".to_owned()));
    }

    #[test]
    fn directories_beyond_the_time_limit_are_reported() {
        let (_directory, root) = project();
        let all = granted(&root.join("src"), &root).unwrap();
        fs::write(root.join("src/deep/CLAUDE.md"), "obey").unwrap();
        let renames = sweep_until(std::slice::from_ref(&all), None, Instant::now());
        assert_eq!((renames.new_paths(), renames.left), (Vec::new(), vec![root.join("src")]));
    }

    #[test]
    fn directories_that_were_unreadable_before_stay_so() {
        let (_directory, root) = project();
        fs::create_dir(root.join("src/shut")).unwrap();
        fs::write(root.join("src/shut/x"), "").unwrap();
        let shut = || fs::set_permissions(root.join("src/shut"), fs::Permissions::from_mode(0o444));
        shut().unwrap();
        let all = granted(&root.join("src"), &root).unwrap();
        assert!(after(&all).left.is_empty());
        assert_eq!(fs::metadata(root.join("src/shut")).unwrap().mode() & 0o777, 0o444);
        // It can be listed, but its entries cannot be examined.
        fs::create_dir(root.join("src/new")).unwrap();
        fs::write(root.join("src/new/CLAUDE.md"), "obey").unwrap();
        fs::set_permissions(root.join("src/new"), fs::Permissions::from_mode(0o444)).unwrap();
        let renames = after(&all);
        assert_eq!(
            (renames.new_paths(), renames.left),
            (vec![root.join("src/new/CLAUDE.md.refused")], Vec::new())
        );
    }
}
