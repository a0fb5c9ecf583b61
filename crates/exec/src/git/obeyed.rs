//! Paths that git obeys: its directories, by whatever name, and files that its settings point at.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::settings::{self, GitSetting};
use crate::GitUser;
use crate::protect::names;
use repertoire::regular_file;

/// The largest list of users that is read, in bytes.
const MAX_USERS: u64 = 1 << 20;
/// The longest file that names a path, in bytes.
const MAX_POINTER: u64 = 4096;
/// The most files of settings that are read because one names another.
const MAX_INCLUDED: usize = 32;

/// The list of the machine's users. Those that only a server knows are not in it.
const USERS: &str = "/etc/passwd";
/// Settings that name a file or directory that git runs or obeys, looked for from the top of the checkout.
const POINTERS: &[&str] = &["hookspath", "attributesfile"];
/// Files of settings in a directory of git.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// Returns whether this is a directory of git, by what is in it.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

/// Returns whether git might take this for a directory of its own: one whose parts are links or lie elsewhere is one to it, too.
pub(crate) fn may_be_directory(path: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(path.join(name)).is_ok();
    has(HEAD) && (has("commondir") || has("objects") && has("refs"))
}

/// The file that makes a directory one of git's.
pub(crate) const HEAD: &str = "HEAD";

/// The parts of a directory of git that a directory has.
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
        self.common |= names::is_named(name, "commondir");
        self.objects |= names::is_named(name, "objects");
        self.refs |= names::is_named(name, "refs");
    }

    /// Returns whether git might take a directory with all this in it for one of its own.
    pub(crate) fn may_be_directory(&self) -> bool {
        self.head && (self.common || self.objects && self.refs)
    }
}

/// Paths that files of settings point at.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObeyedPaths {
    /// The files themselves, and those that they include.
    files: Vec<PathBuf>,
    /// Paths that are relative to the top of the checkout, unless they are absolute.
    pointers: Vec<PathBuf>,
}

impl ObeyedPaths {
    /// Reads what counts in every repository.
    pub(crate) fn by_user(user: &GitUser) -> Self {
        let mut obeyed = Self::default();
        user.settings.iter().for_each(|file| obeyed.read(file.clone(), user));
        for (name, value) in &user.given {
            let Some(path) = expanded(value, user) else { continue };
            let (section, name) =
                (name.split('.').next().unwrap_or_default(), name.rsplit('.').next().unwrap_or_default());
            if is_pointer(&name.to_ascii_lowercase()) {
                obeyed.pointers.push(path);
            } else if is_include(&section.to_ascii_lowercase(), &name.to_ascii_lowercase())
                && path.is_absolute()
            {
                // Git refuses one that is not: there is nothing that it could lie beside.
                obeyed.read(path, user);
            }
        }
        obeyed
    }

    /// Reads what counts where the files are in `tree` and `inner` is a directory of git, or a file that leads to one.
    pub(crate) fn by_repository(inner: &Path, tree: &Path, user: &GitUser) -> Self {
        let directories = match pointed_at(inner, tree) {
            Some(own) => {
                let common = pointer(&own.join("commondir")).map(|common| own.join(common));
                [Some(own), common].into_iter().flatten().collect()
            }
            None => vec![inner.to_owned()],
        };
        let mut obeyed = Self::default();
        for file in directories.iter().flat_map(|one| CONFIGS.map(|name| one.join(name))) {
            obeyed.read(file, user);
        }
        obeyed
    }

    /// Returns where all of it is for a checkout at `tree`; nothing of it need be there.
    pub(crate) fn in_tree(&self, tree: &Path) -> impl Iterator<Item = PathBuf> {
        let pointers: Vec<PathBuf> = self.pointers.iter().map(|path| tree.join(path)).collect();
        self.files.clone().into_iter().chain(pointers)
    }

    /// Reads a file, and whatever it includes under whatever condition.
    fn read(&mut self, file: PathBuf, user: &GitUser) {
        let mut pending = vec![file];
        let mut seen = HashSet::new();
        while let Some(file) = pending.pop() {
            // The same file may be reached by many paths.
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

/// Returns the path that a setting says, its `~` or `~NAME` replaced.
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

/// Returns the home directory of a user, from the text of the list of them.
fn home_of(name: &str, users: &str) -> Option<PathBuf> {
    let mut lines = users.lines().map(|line| line.split(':'));
    let mut user = lines.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
    // The word, two numbers and the full name come before.
    user.nth(4).map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Returns what the settings of the repositories that `path` lies in point at, those of the user among them.
pub(crate) fn obeyed_above(path: &Path, user: &GitUser) -> Vec<PathBuf> {
    let everywhere = ObeyedPaths::by_user(user);
    let is_tree = |tree: &&Path| fs::symlink_metadata(tree.join(".git")).is_ok();
    let of = |tree: &Path| {
        let own = ObeyedPaths::by_repository(&tree.join(".git"), tree, user);
        own.in_tree(tree).chain(everywhere.in_tree(tree)).collect::<Vec<_>>()
    };
    path.ancestors().filter(is_tree).flat_map(of).collect()
}

/// Returns where the `.git` at `inner` leads to, if it is a file and not a directory.
pub(crate) fn pointed_at(inner: &Path, tree: &Path) -> Option<PathBuf> {
    fs::symlink_metadata(inner).ok().filter(fs::Metadata::is_file)?;
    let text = pointer(inner)?;
    Some(tree.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns the one line of a file that names a path.
pub(crate) fn pointer(path: &Path) -> Option<String> {
    let text = String::from_utf8(regular_file::read(path, MAX_POINTER).ok()?).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verified_path;

    #[test]
    fn settings_are_followed_wherever_they_lead() {
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
        let found = obeyed_above(&tree.join("src"), &user);
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
    fn homes_of_others_are_where_the_machine_says() {
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
    fn settings_that_include_one_another_come_to_an_end() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for number in 0..100 {
            let text = format!("[include]\n\tpath = {}\n\tpath = 0\n", number + 1);
            fs::write(root.join(number.to_string()), text).unwrap();
        }
        let user = GitUser { home: None, settings: vec![root.join("0")], given: Vec::new() };
        assert_eq!(ObeyedPaths::by_user(&user).files.len(), MAX_INCLUDED);
    }
}
