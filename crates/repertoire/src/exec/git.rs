//! What git obeys: its directories, by whatever name, and what its settings point at.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

use crate::exec::git_index;
use crate::exec::git_objects::Objects;
use crate::exec::git_settings::{self, GitSetting};
use crate::exec::protected;

/// The most that is read of a file of settings, in bytes.
const MAX_CONFIG: u64 = 1 << 20;
/// The largest index that is looked into, in bytes.
const MAX_INDEX: u64 = 256 << 20;
/// The longest file that names a path, in bytes.
const MAX_POINTER: u64 = 4096;

/// Settings that name a file or directory that git runs or obeys, and whether it is looked for from where the settings are.
const POINTERS: &[(&str, bool)] = &[("hookspath", false), ("attributesfile", false), ("path", true)];

/// Returns whether this is a directory of git, by what is in it.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

/// Returns whether git might take this for a directory of its own: one whose parts are links or lie elsewhere is one to it, too.
pub(crate) fn may_be_directory(path: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(path.join(name)).is_ok();
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// Returns whether `path` is an entry of a directory of git, by whatever name, that git obeys.
pub(crate) fn is_obeyed(path: &Path) -> bool {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else { return false };
    if !protected::is_obeyed_by_git(name) {
        return false;
    }
    let is_attributes = name.eq_ignore_ascii_case("attributes") && parent.ends_with("info");
    may_be_directory(parent) || is_attributes && parent.parent().is_some_and(may_be_directory)
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
    let values = settings(path).into_iter().filter_map(|GitSetting { name, value, .. }| {
        let (_, is_beside) = POINTERS.iter().find(|(own, _)| name == *own)?;
        let path = if *is_beside { directory.join(&value) } else { tree.join(&value) };
        (!value.is_empty() && !value.starts_with('~')).then(|| plain(&path))
    });
    values.collect()
}

/// Returns the value of `section.name` in the settings at `path`.
pub(crate) fn setting(path: &Path, section: &str, name: &str) -> Option<String> {
    settings(path).into_iter().rev().find_map(|own| own.is(section, name).then_some(own.value))
}

/// Returns the settings at `path`.
pub(crate) fn settings(path: &Path) -> Vec<GitSetting> {
    let Some(text) = content(path, MAX_CONFIG) else { return Vec::new() };
    git_settings::read(&String::from_utf8_lossy(&text))
}

/// Returns the beginning of the plain file at `path`. It never waits for a pipe or a device, which a command may have made.
fn content(path: &Path, most: u64) -> Option<Vec<u8>> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns whether the index at `path` was made to name what does not lie in the checkout, or cannot be told.
pub(crate) fn is_unsound_index(path: &Path) -> bool {
    let is_index = path.file_name().is_some_and(|name| name == "index");
    let Some(directory) = path.parent().filter(|directory| is_index && may_be_directory(directory)) else {
        return false;
    };
    content(path, MAX_INDEX).is_none_or(|bytes| !git_index::is_sound(&bytes, objects_of(directory)))
}

/// Returns how the objects of the repository with this directory are named. The bytes of an index could be read either way.
pub(crate) fn objects_of(directory: &Path) -> Objects {
    let common = pointer(&directory.join("commondir")).map(|common| directory.join(common));
    let config = common.as_deref().unwrap_or(directory).join("config");
    match setting(&config, "extensions", "objectformat") {
        Some(format) if format == "sha256" => Objects::Sha256,
        _ => Objects::Sha1,
    }
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
    let text = String::from_utf8(content(path, MAX_POINTER)?).ok()?;
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
