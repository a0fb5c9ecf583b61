//! Git directories of any name, and the files that settings of git point at.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::settings::{self, GitSetting};
use crate::GitUser;
use crate::protect::names;
use crate::verified_path;
use repertoire::regular_file;

/// The most that is read of the list of users, in bytes.
const MAX_USERS: u64 = 1 << 20;
/// The largest pointer file, such as a `.git` file, in bytes.
const MAX_POINTER: u64 = 4096;
/// The most settings files that are read through includes.
const MAX_INCLUDED: usize = 32;

/// The list of local users. Users of a directory service are not in it.
const USERS: &str = "/etc/passwd";
/// Settings that name a file or directory that git runs or obeys. Relative paths start at the checkout's top.
const POINTERS: &[&str] = &["hookspath", "attributesfile"];
/// Settings files in a git directory.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// Returns whether `path` is a git directory, by its contents.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

/// Returns whether git might take `path` for a git directory, even if parts are symbolic links or elsewhere.
pub(crate) fn may_be_directory(path: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(path.join(name)).is_ok();
    has(HEAD) && (has(COMMON) || has("objects") && has("refs"))
}

/// The file that every git directory has.
pub(crate) const HEAD: &str = "HEAD";

/// The file of a git directory that names the one which it shares its objects with.
const COMMON: &str = "commondir";

/// The parts of a git directory that were found in a directory.
#[derive(Debug, Default)]
pub(crate) struct GitDirParts {
    head: bool,
    common: bool,
    objects: bool,
    refs: bool,
}

impl GitDirParts {
    pub(crate) fn note(&mut self, name: &OsStr) {
        self.head |= names::is_named(name, HEAD);
        self.common |= names::is_named(name, COMMON);
        self.objects |= names::is_named(name, "objects");
        self.refs |= names::is_named(name, "refs");
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn is_part(name: &OsStr) -> bool {
        let mut parts = Self::default();
        parts.note(name);
        parts.head || parts.common || parts.objects || parts.refs
    }

    /// Returns whether git might take a directory with these parts for a git directory.
    pub(crate) fn may_be_directory(&self) -> bool {
        self.head && (self.common || self.objects && self.refs)
    }
}

/// Paths that git settings point at.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingsPaths {
    /// The settings files, and the files that they include.
    files: Vec<PathBuf>,
    /// Paths in settings, absolute or relative to the top of the checkout.
    pointers: Vec<PathBuf>,
}

impl SettingsPaths {
    /// Reads the user's settings, which apply to every repository.
    pub(crate) fn by_user(user: &GitUser) -> Self {
        let mut paths = Self::default();
        user.settings.iter().for_each(|file| paths.read(file.clone(), user));
        for (name, value) in &user.given {
            let Some(path) = expanded(value, user) else { continue };
            let (section, name) =
                (name.split('.').next().unwrap_or_default(), name.rsplit('.').next().unwrap_or_default());
            if is_pointer(&name.to_ascii_lowercase()) {
                paths.pointers.push(path);
            } else if is_include(&section.to_ascii_lowercase(), &name.to_ascii_lowercase())
                && path.is_absolute()
            {
                // Git refuses a relative path here: there is no file that it could be relative to.
                paths.read(path, user);
            }
        }
        paths
    }

    /// Reads the settings of the repository with the checkout `tree`. `inner` is its git directory, or a
    /// `.git` file that leads to one.
    pub(crate) fn by_repository(inner: &Path, tree: &Path, user: &GitUser) -> Self {
        let directories = match pointed_at(inner, tree) {
            Some(own) => {
                let common = pointer(&own.join(COMMON)).map(|common| own.join(common));
                [Some(own), common].into_iter().flatten().collect()
            }
            None => vec![inner.to_owned()],
        };
        let mut paths = Self::default();
        for file in directories.iter().flat_map(|one| CONFIGS.map(|name| one.join(name))) {
            paths.read(file, user);
        }
        paths
    }

    /// Returns all paths for a checkout at `tree`, existing or not.
    pub(crate) fn in_tree(&self, tree: &Path) -> impl Iterator<Item = PathBuf> {
        let pointers: Vec<PathBuf> = self.pointers.iter().map(|path| tree.join(path)).collect();
        self.files.clone().into_iter().chain(pointers)
    }

    /// Reads a settings file and all files that it includes, whatever the condition of an include is.
    fn read(&mut self, file: PathBuf, user: &GitUser) {
        let mut pending = vec![file];
        let mut seen = HashSet::new();
        while let Some(file) = pending.pop() {
            // Several paths may lead to the same file.
            let real = file.canonicalize().unwrap_or_else(|_| file.clone());
            if file.is_dir() || seen.len() >= MAX_INCLUDED || !seen.insert(real) {
                continue;
            }
            let beside = file.parent().unwrap_or(Path::new("/")).to_owned();
            for GitSetting { section, name, value, .. } in settings::read_file(&file) {
                let Some(path) = expanded(&value, user) else { continue };
                if is_pointer(&name) {
                    self.pointers.push(path);
                } else if is_include(&section, &name) {
                    pending.push(beside.join(path));
                }
            }
            self.files.push(file);
        }
    }
}

fn is_pointer(name: &str) -> bool {
    POINTERS.contains(&name)
}

fn is_include(section: &str, name: &str) -> bool {
    section.starts_with("include") && name == "path"
}

/// Returns the path in a setting, with `~` or `~NAME` expanded.
fn expanded(value: &str, user: &GitUser) -> Option<PathBuf> {
    let Some(rest) = value.strip_prefix('~') else {
        return Some(PathBuf::from(value)).filter(|_| !value.is_empty());
    };
    let (name, inner) = rest.split_once('/').unwrap_or((rest, ""));
    let home = match name {
        "" => user.home.clone(),
        name => {
            let users = regular_file::read(Path::new(USERS), MAX_USERS).ok()?;
            home_of(name, &String::from_utf8_lossy(&users))
        }
    };
    Some(home?.join(inner))
}

/// Returns the home directory of a user, from the text of `/etc/passwd`.
fn home_of(name: &str, users: &str) -> Option<PathBuf> {
    let mut lines = users.lines().map(|line| line.split(':'));
    let mut user = lines.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
    // The password, two numbers and the full name come first.
    user.nth(4).map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Returns the paths that settings point at: those of all repositories around `path`, and the user's.
pub(crate) fn settings_paths_above(path: &Path, user: &GitUser) -> Vec<PathBuf> {
    let everywhere = SettingsPaths::by_user(user);
    let is_tree = |tree: &&Path| fs::symlink_metadata(tree.join(".git")).is_ok();
    let of = |tree: &Path| {
        let own = SettingsPaths::by_repository(&tree.join(".git"), tree, user);
        own.in_tree(tree).chain(everywhere.in_tree(tree)).collect::<Vec<_>>()
    };
    path.ancestors().filter(is_tree).flat_map(of).collect()
}

/// The files of a checkout that agents, shells or git obey.
pub(crate) struct ProtectedFiles {
    top: PathBuf,
    named: Vec<PathBuf>,
}

impl ProtectedFiles {
    pub(crate) fn of(top: &Path, user: &GitUser) -> Self {
        let named = settings_paths_above(top, user);
        Self {
            top: top.to_owned(),
            named: named.iter().flat_map(|path| verified_path::trail(path)).collect(),
        }
    }

    /// Returns `true` if the file at `path`, relative to the top, is or would be one of them.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let whole = self.top.join(path);
        let name = whole.file_name().unwrap_or_default();
        let is_named = |named: &PathBuf| {
            whole.starts_with(named) || named.starts_with(&whole) && !path.as_os_str().is_empty()
        };
        names::is_protected(path)
            || names::is_named(name, HEAD)
            || names::is_named(name, COMMON)
            || self.named.iter().any(is_named)
    }
}

/// Returns the git directory that the `.git` file at `inner` leads to, or `None` if `inner` is not a file.
pub(crate) fn pointed_at(inner: &Path, tree: &Path) -> Option<PathBuf> {
    fs::symlink_metadata(inner).ok().filter(fs::Metadata::is_file)?;
    let text = pointer(inner)?;
    Some(tree.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns the text of a pointer file, without the line end.
pub(crate) fn pointer(path: &Path) -> Option<String> {
    let text = String::from_utf8(regular_file::read(path, MAX_POINTER).ok()?).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_and_pointers_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        write("tree/.git/config", "[include]\n\tpath = ../.gitconfig\n[difftool \"x\"]\n\tpath = no\n");
        write(
            "tree/.gitconfig",
            "[core]\n\thooksPath = hooks\n[includeIf \"gitdir:/x/\"]\n\tpath = more/one\n",
        );
        write("tree/more/one", "[include]\n\tpath = one\n\tpath = ../.git/config\n\tpath = ~/two\n");
        write("home/two", "[core]\n\tattributesFile = ~/attributes\n");
        write("home/own", "[core]\n\thooksPath = ghooks\n");
        write("home/given", "[core]\n\thooksPath = inhooks\n");
        let given = [
            ("Core.HooksPath", "envhooks".to_owned()),
            ("include.path", root.join("home/given").display().to_string()),
            ("includeIf.gitdir:/x/.path", "~/two".to_owned()),
            ("include.path", "tree/no".to_owned()),
            ("core.editor", "no".to_owned()),
        ];
        let given = given.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let user = GitUser { home: Some(root.join("home")), settings: vec![root.join("home/own")], given };
        let tree = root.join("tree");
        let found = settings_paths_above(&tree.join("src"), &user);
        let end = |path: &PathBuf| {
            verified_path::trail(path).pop().unwrap().strip_prefix(&root).unwrap().to_owned()
        };
        let found: Vec<PathBuf> = found.iter().map(end).collect();
        for path in [
            "tree/hooks",
            "tree/ghooks",
            "tree/more/one",
            "home/two",
            "home/attributes",
            "home/own",
            "tree/envhooks",
            "tree/inhooks",
            "home/given",
        ] {
            assert!(found.contains(&path.into()), "{path} {found:?}");
        }
        assert!(!found.iter().any(|path| path.ends_with("no")), "{found:?}");
    }

    #[test]
    fn tildes_expand_to_home_directories() {
        let users = "root:x:0:0:root:/root:/bin/sh\nada:x:1:1:Ada L,,,:/home/ada:/bin/sh\nodd:x:2:2::relative:\nshort:x\n";
        assert_eq!(home_of("ada", users), Some("/home/ada".into()));
        for name in ["ad", "odd", "short", ""] {
            assert_eq!(home_of(name, users), None, "{name}");
        }
        let user = GitUser { home: Some("/home/me".into()), settings: Vec::new(), given: Vec::new() };
        let check =
            |value: &str, expect: Option<&str>| assert_eq!(expanded(value, &user), expect.map(PathBuf::from));
        check("~", Some("/home/me"));
        check("~/a/b", Some("/home/me/a/b"));
        check("a/~b", Some("a/~b"));
        check("", None);
        check("~no-such-user-at-all/x", None);
    }

    #[test]
    fn circular_includes_are_limited() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for number in 0..100 {
            let text = format!("[include]\n\tpath = {}\n\tpath = 0\n", number + 1);
            fs::write(root.join(number.to_string()), text).unwrap();
        }
        let user = GitUser { home: None, settings: vec![root.join("0")], given: Vec::new() };
        assert_eq!(SettingsPaths::by_user(&user).files.len(), MAX_INCLUDED);
    }
}
