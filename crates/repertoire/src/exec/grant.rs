//! What a grant to write comes to, once what is protected is taken out of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::exec::pinned::{self, Pinned};
use crate::exec::{ExecError, ExecErrorKind};
use crate::exec::{git, mark, protected};

/// The most entries of a directory that is granted. Each is looked at, before and after.
const MAX_ENTRIES: usize = 200_000;
/// The most that are looked at afterwards, for a command may make some.
const MAX_ENTRIES_AFTER: usize = 10 * MAX_ENTRIES;

/// What a file that came to be under a protected name is called from then on.
const REFUSED: &str = "refused";
/// How many other names are tried, none of which anybody can know.
const MAX_NAMES: usize = 64;
/// How often what is left is looked at again.
const MAX_ROUNDS: usize = 64;

const OBEYED: &str = "agents, shells, git or Repertoire itself obey what is there";

/// Something that may be written, without what is protected in it.
#[derive(Debug)]
pub(crate) struct Writable {
    /// Where it is, links resolved.
    pub(crate) pinned: Pinned,
    /// What the host protects by path: the skill, its settings, its state.
    own: Vec<PathBuf>,
    /// What is protected in it.
    pub(crate) protected: BTreeMap<PathBuf, Entry>,
    /// What the settings of the repositories around it pointed at: what a command makes of those says nothing.
    above: Vec<PathBuf>,
    /// The indices of git that could not be told to be sound before.
    unsound: HashSet<PathBuf>,
    /// Whether it is a directory of git as a whole.
    is_git: bool,
}

/// Something protected that was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) pinned: Pinned,
    pub(crate) is_link: bool,
    is_directory: bool,
    /// When it was last changed, for a link: a link is never changed, and another one may get its number.
    changed: Option<(i64, i64)>,
}

impl Entry {
    fn of(path: &Path, metadata: &fs::Metadata) -> Self {
        let is_link = metadata.is_symlink();
        Self {
            pinned: Pinned::of(path, metadata),
            is_link,
            is_directory: metadata.is_dir(),
            changed: is_link.then_some((metadata.ctime(), metadata.ctime_nsec())),
        }
    }
}

/// What was found in a directory.
#[derive(Debug, Default)]
struct Found {
    protected: BTreeMap<PathBuf, Entry>,
    /// Indices of git that cannot be told to be sound.
    unsound: HashSet<PathBuf>,
    /// What could not be looked at.
    unseen: Vec<PathBuf>,
}

/// What became of a directory after a command.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// Where things are now that were made under protected names.
    pub(crate) refused: Vec<PathBuf>,
    /// What could not be looked at, or not be renamed.
    pub(crate) left: Vec<PathBuf>,
}

/// Returns what may be written of `path`, which must lie in `root`. In `own` is what the host protects.
pub(crate) fn writable(path: &Path, root: &Path, own: &[PathBuf]) -> Result<Writable, ExecError> {
    // By itself a directory of git is nothing to write to.
    let is_of_git =
        |real: &Path| real.file_name().is_some_and(protected::is_git) || git::may_be_directory(real);
    if path.canonicalize().is_ok_and(|real| is_of_git(&real)) {
        return Err(ExecError::new(ExecErrorKind::GrantRefused).at(path).saying(OBEYED));
    }
    writable_anywhere(path, root, own, false)
}

/// Returns what may be written of the directory of git at `path`, that of a repository which was found to belong to a granted checkout.
pub(crate) fn writable_git(path: &Path, own: &[PathBuf]) -> Result<Writable, ExecError> {
    writable_anywhere(path, path, own, true)
}

fn writable_anywhere(path: &Path, root: &Path, own: &[PathBuf], is_git: bool) -> Result<Writable, ExecError> {
    let refused = |text: &str| ExecError::new(ExecErrorKind::GrantRefused).at(path).saying(text);
    let invalid = |error| ExecError::new(ExecErrorKind::InvalidJob).at(path).because(error);
    if !path.is_absolute() {
        return Err(ExecError::new(ExecErrorKind::InvalidJob).at(path).saying("the path is not absolute"));
    }
    let real = path.canonicalize().map_err(invalid)?;
    if !real.starts_with(root) {
        return Err(refused("it is not in the granted directory"));
    }
    // All names count, those above the granted directory too.
    let above = git::obeyed_above(&real);
    let is_obeyed = protected::is_protected(&real)
        || own.iter().any(|own| real.starts_with(own))
        || real.ancestors().any(is_skill)
        || above.iter().any(|obeyed| real.starts_with(obeyed));
    if is_obeyed {
        return Err(refused(OBEYED));
    }
    let pinned = Pinned::at(&real).map_err(invalid)?;
    let (own, protected, unsound) = (own.to_owned(), BTreeMap::new(), HashSet::new());
    let mut writable = Writable { pinned, own, protected, above, unsound, is_git };
    let found = writable.look(MAX_ENTRIES, Unlistable::Protect);
    if let Some(unseen) = found.unseen.first() {
        let refused = ExecError::new(ExecErrorKind::GrantRefused).at(path);
        let text =
            format!("it cannot be looked at as a whole ({}); grant a smaller directory", unseen.display());
        return Err(refused.saying(text));
    }
    if found.protected.contains_key(&real) {
        return Err(refused(
            "it is another name of a file that agents, shells, git or Repertoire itself obey",
        ));
    }
    writable.protected = found.protected;
    writable.unsound = found.unsound;
    Ok(writable)
}

fn is_skill(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join("SKILL.md")).is_ok()
}

/// What is done about a directory that its owner cannot list, though perhaps write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unlistable {
    /// It is protected as a whole.
    Protect,
    /// It is made listable, for a command made it so.
    Open,
}

impl Writable {
    /// Returns everything in it that is protected. What is in that is not looked at.
    fn look(&self, most: usize, unlistable: Unlistable) -> Found {
        let mut found = Found::default();
        let mut count = 0;
        let mut obeyed = self.above.clone();
        // Files of more than one name, by their numbers.
        let mut shared: HashMap<(u64, u64), Vec<PathBuf>> = HashMap::new();
        let mut pending = vec![self.pinned.path.clone()];
        match fs::symlink_metadata(&self.pinned.path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(metadata) => {
                pending.clear();
                note_shared(&self.pinned.path, &metadata, &mut shared);
            }
            Err(_) => return found,
        }
        while let Some(directory) = pending.pop() {
            let entries = match listed(&directory, unlistable) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied
                        && unlistable == Unlistable::Protect
                        && directory != self.pinned.path =>
                {
                    found.add(&directory);
                    continue;
                }
                // One that was protected as a whole is as it was.
                Err(_) if self.protected.contains_key(&directory) => continue,
                Err(_) => {
                    found.unseen.push(directory);
                    continue;
                }
            };
            for entry in entries {
                let Ok(entry) = entry else {
                    found.unseen.push(directory.clone());
                    break;
                };
                let path = entry.path();
                count += 1;
                if count > most {
                    found.unseen.push(directory);
                    return found;
                }
                let metadata = match fs::symlink_metadata(&path) {
                    Ok(metadata) => metadata,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    // Such as a path that is longer than any may be.
                    Err(_) => {
                        found.unseen.push(path);
                        continue;
                    }
                };
                if self.is_protected(&path, &metadata) {
                    let entry = Entry::of(&path, &metadata);
                    // What a command made says nothing about what was there.
                    let is_believed =
                        unlistable == Unlistable::Protect || self.protected.get(&path) == Some(&entry);
                    if is_believed {
                        obeyed.extend(git::obeyed_by(&path));
                    }
                    // Whoever reads it reads what the link leads to.
                    if is_believed
                        && entry.is_link
                        && let Ok(target) = path.canonicalize()
                        && target.starts_with(&self.pinned.path)
                    {
                        found.add(&target);
                    }
                    found.protected.insert(path, entry);
                } else if metadata.is_dir() {
                    pending.push(path);
                } else if git::is_unsound_index(&path) {
                    if unlistable == Unlistable::Open && !self.unsound.contains(&path) {
                        found.protected.insert(path.clone(), Entry::of(&path, &metadata));
                    }
                    found.unsound.insert(path);
                } else {
                    note_shared(&path, &metadata, &mut shared);
                }
            }
        }
        obeyed.iter().filter(|path| path.starts_with(&self.pinned.path)).for_each(|path| found.add(path));
        if !shared.is_empty() {
            found.add_shared(&shared, &self.pinned.path);
        }
        found
    }

    fn is_protected(&self, path: &Path, metadata: &fs::Metadata) -> bool {
        // A `.git` that is a file points at a directory of git elsewhere.
        let is_pointer = !metadata.is_dir() && path.file_name().is_some_and(protected::is_git);
        protected::is_protected(path)
            || is_pointer
            || self.own.iter().any(|own| path.starts_with(own))
            || git::is_obeyed(path)
            || metadata.is_dir() && is_skill(path)
            || !metadata.is_dir() && !metadata.is_file() && self.is_in_git(path)
    }

    /// Returns whether `path` lies in a directory of git. Git writes through links there, wherever they lead.
    fn is_in_git(&self, path: &Path) -> bool {
        let is_git = |directory: &Path| {
            directory.file_name().is_some_and(protected::is_git) || git::may_be_directory(directory)
        };
        let inner = path.ancestors().skip(1).take_while(|directory| directory.starts_with(&self.pinned.path));
        self.is_git || inner.into_iter().any(is_git)
    }

    /// Returns paths that may be written as a whole, and files that may be changed but not removed, for a sandbox that cannot take anything out of a directory.
    ///
    /// A directory with something protected in it is taken apart: what is in it is granted one by one, and nothing can be made or removed in it.
    pub(crate) fn parts(&self) -> (Vec<Pinned>, Vec<Pinned>) {
        let (mut whole, mut files) = (Vec::new(), Vec::new());
        // Every directory that has something protected in it, however deep.
        let apart: HashSet<&Path> = self.protected.keys().flat_map(|path| path.ancestors().skip(1)).collect();
        let mut pending = vec![self.pinned.path.clone()];
        while let Some(path) = pending.pop() {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if self.protected.contains_key(&path) || metadata.is_symlink() {
                continue;
            }
            if path == self.pinned.path && Pinned::of(&path, &metadata) != self.pinned {
                break;
            }
            if !metadata.is_dir() {
                files.push(Pinned::of(&path, &metadata));
            } else if !apart.contains(path.as_path()) {
                whole.push(Pinned::of(&path, &metadata));
            } else if let Ok(entries) = fs::read_dir(&path) {
                pending.extend(entries.flatten().map(|entry| entry.path()));
            }
        }
        (whole, files)
    }

    /// Takes protected names from what the command made under them.
    ///
    /// What was there before could not be changed. Nothing is deleted, because somebody else could have made it meanwhile.
    pub(crate) fn refuse_new(&self) -> Swept {
        let mut swept = Swept::default();
        // What is in a thing that loses its name is looked at in the next round.
        for _ in 0..MAX_ROUNDS {
            let found = self.look(MAX_ENTRIES_AFTER, Unlistable::Open);
            let is_new = |(path, entry): &(&PathBuf, &Entry)| self.protected.get(*path) != Some(entry);
            let new: Vec<&PathBuf> = found.protected.iter().filter(is_new).map(|(path, _)| path).collect();
            let before = swept.refused.len();
            swept.left = found.unseen;
            for path in new {
                match self.rename(path) {
                    Ok(now) => swept.refused.push(now),
                    Err(_) => swept.left.push(path.clone()),
                }
            }
            if swept.refused.len() == before {
                return swept;
            }
        }
        swept.left.push(self.pinned.path.clone());
        swept
    }

    /// Gives something another name, where it is; returns what it is called now.
    fn rename(&self, path: &Path) -> io::Result<PathBuf> {
        if path == self.pinned.path {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // Of a skill that was made the file that makes it one is renamed.
        let is_skill_alone = is_skill(path) && !protected::is_protected(path);
        let path = if is_skill_alone { path.join("SKILL.md") } else { path.to_owned() };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // Not by way of a link that somebody put there since.
        let directory = pinned::open(parent)?;
        let mut error = io::Error::from(io::ErrorKind::AlreadyExists);
        for number in 0..MAX_NAMES {
            let mut target = name.to_owned();
            target.push(format!(".{REFUSED}"));
            if number > 0 {
                target.push(format!("-{:016x}", mark::random()));
            }
            match rename_beside(&directory, name, &target) {
                Ok(()) => return Ok(path.with_file_name(target)),
                Err(rustix::io::Errno::ACCESS) if number == 0 => make_open(parent)?,
                Err(rustix::io::Errno::EXIST) => {}
                Err(other) => error = other.into(),
            }
        }
        Err(error)
    }
}

impl Found {
    fn add(&mut self, path: &Path) {
        if let Ok(metadata) = fs::symlink_metadata(path) {
            self.protected.insert(path.to_owned(), Entry::of(path, &metadata));
        }
    }

    /// Adds files that are the same as a protected one under another name.
    fn add_shared(&mut self, shared: &HashMap<(u64, u64), Vec<PathBuf>>, root: &Path) {
        let mut pending: Vec<PathBuf> = self.protected.keys().cloned().collect();
        // What lies beside the granted directory, in the same project, counts too.
        pending.extend(root.ancestors().skip(1).take(3).flat_map(git::protected_in));
        let mut count = 0;
        while let Some(path) = pending.pop() {
            count += 1;
            if count > MAX_ENTRIES {
                self.unseen.push(path);
                return;
            }
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if metadata.is_dir() {
                let Ok(entries) = fs::read_dir(&path) else { continue };
                pending.extend(entries.flatten().map(|entry| entry.path()));
            } else if let Some(others) = shared.get(&(metadata.dev(), metadata.ino())) {
                others.iter().for_each(|other| self.add(other));
            }
        }
    }
}

fn note_shared(path: &Path, metadata: &fs::Metadata, shared: &mut HashMap<(u64, u64), Vec<PathBuf>>) {
    if metadata.is_file() && metadata.nlink() > 1 {
        shared.entry((metadata.dev(), metadata.ino())).or_default().push(path.to_owned());
    }
}

fn listed(directory: &Path, unlistable: Unlistable) -> io::Result<fs::ReadDir> {
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && unlistable == Unlistable::Open => {
            make_open(directory)?;
            fs::read_dir(directory)
        }
        other => other,
    }
}

/// Lets the owner of a directory list and change it.
fn make_open(directory: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(directory)?;
    if !metadata.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    fs::set_permissions(directory, fs::Permissions::from_mode(metadata.mode() & 0o7777 | 0o700))
}

/// Renames something in a directory, unless the new name is taken.
#[cfg(target_os = "linux")]
fn rename_beside(directory: &std::os::fd::OwnedFd, name: &OsStr, target: &OsStr) -> rustix::io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};

    match renameat_with(directory, name, directory, target, RenameFlags::NOREPLACE) {
        // Not every file system has that.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => rename_if_free(directory, name, target),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_beside(directory: &std::os::fd::OwnedFd, name: &OsStr, target: &OsStr) -> rustix::io::Result<()> {
    rename_if_free(directory, name, target)
}

fn rename_if_free(directory: &std::os::fd::OwnedFd, name: &OsStr, target: &OsStr) -> rustix::io::Result<()> {
    if rustix::fs::statat(directory, target, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(rustix::io::Errno::EXIST);
    }
    rustix::fs::renameat(directory, name, directory, target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for file in [
            "src/a.rs",
            "src/deep/b.rs",
            "docs/AGENTS.md",
            "docs/x.md",
            ".git/hooks/x",
            ".git/config",
            ".git/index",
            "skills/s/SKILL.md",
            "skills/s/run.sh",
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        (directory, root)
    }

    #[track_caller]
    fn check_refused(root: &Path, path: &str) {
        let error = writable(&root.join(path), root, &[]).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::GrantRefused, "{path}");
    }

    #[test]
    fn protected_places_are_never_granted() {
        let (_directory, root) = project();
        for path in
            ["docs/AGENTS.md", ".git/hooks", ".git/config", "skills/s", "skills/s/run.sh", "/", "/etc"]
        {
            check_refused(&root, path);
        }
        symlink("/etc", root.join("out")).unwrap();
        check_refused(&root, "out");
        symlink(root.join(".git/hooks"), root.join("innocent")).unwrap();
        check_refused(&root, "innocent");
    }

    #[test]
    fn a_directory_is_granted_without_what_is_protected_in_it() {
        let (_directory, root) = project();
        let all = writable(&root, &root, &[]).unwrap();
        let names: Vec<_> =
            all.protected.keys().map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect();
        let expect = [".git/config", ".git/hooks", "docs/AGENTS.md", "skills/s"].map(PathBuf::from);
        assert_eq!(names, expect);
        let (whole, mut files) = all.parts();
        files.sort();
        let paths = |parts: Vec<Pinned>| parts.into_iter().map(|part| part.path).collect::<Vec<_>>();
        assert_eq!(paths(whole), [root.join("src")]);
        assert_eq!(paths(files), [root.join(".git/index"), root.join("docs/x.md")]);
    }

    #[test]
    fn what_is_made_under_a_protected_name_loses_it() {
        let (_directory, root) = project();
        let all = writable(&root, &root, &[]).unwrap();
        fs::write(root.join("CLAUDE.md"), "obey").unwrap();
        fs::create_dir(root.join("src/.vscode")).unwrap();
        fs::create_dir(root.join("src/new")).unwrap();
        fs::write(root.join("src/new/SKILL.md"), "x").unwrap();
        let mut refused = all.refuse_new().refused;
        refused.sort();
        let expect = ["CLAUDE.md.refused", "src/.vscode.refused", "src/new/SKILL.md.refused"]
            .map(|path| root.join(path));
        assert_eq!(refused, expect);
        assert!(all.refuse_new().refused.is_empty());
        assert!(root.join("docs/AGENTS.md").is_file());
    }

    #[test]
    fn all_names_above_a_granted_directory_count() {
        let (_directory, root) = project();
        fs::create_dir_all(root.join(".claude/commands")).unwrap();
        fs::create_dir_all(root.join("skills/s/scripts")).unwrap();
        fs::create_dir_all(root.join("state/copies")).unwrap();
        let own = [root.join("state")];
        for path in
            [".claude", ".claude/commands", ".git", ".git/hooks", "skills/s/scripts", "state", "state/copies"]
        {
            let path = root.join(path);
            let error = writable(&path, &path, &own).unwrap_err();
            assert_eq!(error.kind(), ExecErrorKind::GrantRefused, "{path:?}");
        }
        let all = writable(&root, &root, &own).unwrap();
        assert!(all.protected.contains_key(&root.join("state")));
        assert!(!all.protected.contains_key(&root.join("src")));
    }

    #[test]
    fn other_names_of_protected_files_are_protected() {
        let (_directory, root) = project();
        symlink("docs/x.md", root.join("CLAUDE.md")).unwrap();
        symlink("nowhere", root.join("GEMINI.md")).unwrap();
        fs::hard_link(root.join(".git/hooks/x"), root.join("src/hook")).unwrap();
        fs::hard_link(root.join("src/a.rs"), root.join("src/same.rs")).unwrap();
        fs::create_dir_all(root.join("tools/hooks")).unwrap();
        fs::write(root.join("tools/more.ini"), "").unwrap();
        let config = "[core]\n\tHooksPath = \"tools/hooks\"\n[include]\n\tpath = ../tools/more.ini\n";
        fs::write(root.join(".git/config"), config).unwrap();
        let all = writable(&root, &root, &[]).unwrap();
        for path in ["docs/x.md", "CLAUDE.md", "GEMINI.md", "src/hook", "tools/hooks", "tools/more.ini"] {
            assert!(all.protected.contains_key(&root.join(path)), "{path}");
        }
        assert!(!all.protected.contains_key(&root.join("src/same.rs")));
        for path in ["tools/hooks", "tools/more.ini", "src/hook"] {
            check_refused(&root, path);
        }
        assert!(
            writable(&root.join("tools"), &root, &[])
                .unwrap()
                .protected
                .contains_key(&root.join("tools/hooks"))
        );
    }

    #[test]
    fn a_directory_of_git_by_any_name_is_one() {
        let (_directory, root) = project();
        for file in
            ["bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/x", "bare/config", "bare/description"]
        {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "x").unwrap();
        }
        check_refused(&root, "bare");
        let all = writable(&root, &root, &[]).unwrap();
        assert!(all.protected.contains_key(&root.join("bare/hooks")));
        assert!(all.protected.contains_key(&root.join("bare/config")));
    }

    #[test]
    fn occupied_names_and_replaced_links_do_not_help() {
        let (_directory, root) = project();
        symlink("docs/x.md", root.join("src/CLAUDE.md")).unwrap();
        let all = writable(&root, &root, &[]).unwrap();
        fs::write(root.join("src/AGENTS.md"), "obey").unwrap();
        fs::write(root.join("src/AGENTS.md.refused"), "occupied").unwrap();
        for number in 1..1000 {
            fs::write(root.join(format!("src/AGENTS.md.refused-{number}")), "").unwrap();
        }
        // As often as it takes until a link gets the number of the one before.
        fs::remove_file(root.join("src/CLAUDE.md")).unwrap();
        symlink("deep/b.rs", root.join("src/CLAUDE.md")).unwrap();
        fs::create_dir_all(root.join("src/s/.claude")).unwrap();
        fs::write(root.join("src/s/SKILL.md"), "x").unwrap();
        let swept = all.refuse_new();
        assert!(swept.left.is_empty(), "{swept:?}");
        assert_eq!(swept.refused.len(), 4, "{swept:?}");
        for path in ["src/AGENTS.md", "src/CLAUDE.md", "src/s/SKILL.md", "src/s/.claude"] {
            assert!(fs::symlink_metadata(root.join(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_looked_at_is_told_or_opened() {
        let (_directory, root) = project();
        let all = writable(&root.join("src"), &root, &[]).unwrap();
        fs::create_dir_all(root.join("src/shut")).unwrap();
        fs::write(root.join("src/shut/CLAUDE.md"), "obey").unwrap();
        fs::set_permissions(root.join("src/shut"), fs::Permissions::from_mode(0o311)).unwrap();
        // Longer than any path, so it is built from the inside out.
        let name = "d".repeat(200);
        fs::create_dir(root.join("src/chain")).unwrap();
        for _ in 0..30 {
            fs::create_dir(root.join("src/outer")).unwrap();
            fs::rename(root.join("src/chain"), root.join("src/outer").join(&name)).unwrap();
            fs::rename(root.join("src/outer"), root.join("src/chain")).unwrap();
        }
        let swept = all.refuse_new();
        assert_eq!(swept.refused, [root.join("src/shut/CLAUDE.md.refused")]);
        assert_eq!(swept.left.len(), 1, "{swept:?}");
        crate::exec::scratch::remove(&root.join("src/chain")).unwrap();
    }
}
