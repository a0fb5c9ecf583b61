//! What git obeys: its directories, by whatever name, and what its settings point at.

use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use crate::exec::protected;

/// The most that is read of a file of settings, in bytes.
const MAX_CONFIG: u64 = 1 << 20;
/// The longest file that names a path, in bytes.
const MAX_POINTER: u64 = 4096;

/// Settings that name a file or directory that git runs or obeys, and whether it is looked for from where the settings are.
const POINTERS: &[(&str, bool)] = &[("hookspath", false), ("attributesfile", false), ("path", true)];

/// Returns whether this is a directory of git, by what is in it.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

/// Returns whether `path` is an entry of a directory of git, by whatever name, that git obeys.
pub(crate) fn is_obeyed(path: &Path) -> bool {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else { return false };
    if !protected::is_obeyed_by_git(name) {
        return false;
    }
    let is_attributes = name.eq_ignore_ascii_case("attributes") && parent.ends_with("info");
    is_directory(parent) || is_attributes && parent.parent().is_some_and(is_directory)
}

/// Returns what the settings at `path` point at, if it is a file of git's settings.
pub(crate) fn obeyed_by(path: &Path) -> Vec<PathBuf> {
    let is_config = path.file_name().is_some_and(|name| name == "config" || name == "config.worktree");
    let Some(directory) = path.parent().filter(|_| is_config) else { return Vec::new() };
    let is_inner = directory.file_name().is_some_and(protected::is_git);
    let tree = if is_inner { directory.parent().unwrap_or(directory) } else { directory };
    obeyed_in(path, tree)
}

/// Returns what the settings at `path` point at where the files are in `tree`, from where hooks are looked for.
fn obeyed_in(path: &Path, tree: &Path) -> Vec<PathBuf> {
    let Some(directory) = path.parent() else { return Vec::new() };
    let values = settings(path).into_iter().filter_map(|(name, value)| {
        let (_, is_beside) = POINTERS.iter().find(|(own, _)| name == *own)?;
        let path = if *is_beside { directory.join(&value) } else { tree.join(&value) };
        (!value.is_empty() && !value.starts_with('~')).then(|| plain(&path))
    });
    values.collect()
}

/// Returns the value of `name`, in whatever section, in the settings at `path`.
pub(crate) fn setting(path: &Path, name: &str) -> Option<String> {
    settings(path).into_iter().rev().find_map(|(own, value)| (own == name).then_some(value))
}

/// Returns the settings at `path`, without their sections: names in lower case, and values.
fn settings(path: &Path) -> Vec<(String, String)> {
    let mut text = Vec::new();
    let file = fs::File::open(path);
    if file.is_err() || file.is_ok_and(|file| file.take(MAX_CONFIG).read_to_end(&mut text).is_err()) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&text);
    // A section may begin on the same line.
    let lines = text.lines().map(str::trim_start).map(|line| match line.strip_prefix('[') {
        Some(section) => section.split_once(']').map_or("", |(_, rest)| rest),
        None => line,
    });
    let values = lines.filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.split(['#', ';']).next()?.trim().trim_matches('"');
        Some((name.trim().to_ascii_lowercase(), value.to_owned()))
    });
    values.collect()
}

/// Returns what the settings of the repositories that `path` lies in point at.
pub(crate) fn obeyed_above(path: &Path) -> Vec<PathBuf> {
    let of = |tree: &Path| -> Vec<PathBuf> {
        let inner = tree.join(".git");
        let directories = match pointed_at(&inner, tree) {
            Some(own) => {
                let common = pointer(&own.join("commondir")).map(|common| own.join(common));
                [Some(own), common].into_iter().flatten().collect()
            }
            None => vec![inner],
        };
        let files =
            directories.iter().flat_map(|one| ["config", "config.worktree"].map(|name| one.join(name)));
        files.flat_map(|file| obeyed_in(&file, tree)).collect()
    };
    path.ancestors().flat_map(of).collect()
}

/// Returns where the `.git` at `inner` leads to, if it is a file and not a directory.
pub(crate) fn pointed_at(inner: &Path, tree: &Path) -> Option<PathBuf> {
    fs::symlink_metadata(inner).ok().filter(fs::Metadata::is_file)?;
    let text = pointer(inner)?;
    Some(tree.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns the one line of a file that names a path.
pub(crate) fn pointer(path: &Path) -> Option<String> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(MAX_POINTER).read_to_string(&mut text).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// Returns what is protected in a directory itself, for telling whether something is the same under another name.
pub(crate) fn protected_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let own = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(protected::is_protected_name));
    own.chain(["hooks", "config"].map(|name| directory.join(".git").join(name))).collect()
}

/// Returns a path without `.` and `..`, and without links where it is there.
fn plain(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
