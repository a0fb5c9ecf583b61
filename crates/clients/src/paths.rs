//! Paths of skills, resolved, relative and as shown.

use std::fs::{canonicalize, read_dir, read_link};
use std::path::{Component, Path, PathBuf};

use repertoire::Entry;
use repertoire::config::FileTrust;

use crate::{Owner, Places};

/// Returns the directory of the skill, links resolved.
pub fn of(entry: &Entry) -> PathBuf {
    let path = Path::new(entry.directory());
    canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns `path` with the links in it resolved; a path that does not exist yet is returned unchanged.
pub fn resolved(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (canonicalize(existing), path.strip_prefix(existing)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

/// Returns whether `path` of `owner` leads out of where it may be. A user's path may contain links, as dot
/// file managers make; a project's may not link out of it, as the link may come from a cloned repository.
pub(crate) fn leads_out(places: &Places, owner: Owner, path: &Path) -> bool {
    let trust = FileTrust::Within(places.project().to_owned());
    owner == Owner::Project && trust.objection_to_path("", path).is_some()
}

/// Returns the relative path from the directory `from` to `to`; both are absolute and without links.
pub(crate) fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, from.len() - shared);
    up.chain(to[shared..].iter().copied()).collect()
}

/// Returns `path` as it is shown and recorded: relative to `base` where it lies in it, with `/`.
pub fn shown(base: &Path, path: &Path) -> String {
    let path = path.strip_prefix(base).unwrap_or(path);
    let text = path.display().to_string();
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

/// Returns the links in `folder` that lead nowhere, each with the path that it would lead to.
pub(crate) fn dangling_links(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let links = entries.filter(|path| path.is_symlink() && matches!(path.try_exists(), Ok(false)));
    links.filter_map(|path| end_of_link(&path).map(|end| (path, end))).collect()
}

/// Returns the path that the link at `path` leads to, without links; it need not exist.
pub(crate) fn end_of_link(path: &Path) -> Option<PathBuf> {
    if let Ok(end) = canonicalize(path) {
        return Some(end);
    }
    let mut end = canonicalize(path.parent()?).ok()?;
    for part in read_link(path).ok()?.components() {
        match part {
            Component::ParentDir => {
                end.pop();
            }
            // An absolute path replaces what is before it.
            part => end.push(part),
        }
    }
    Some(resolved(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_one_to_the_other() {
        for (from, to, expect) in [
            ("/p/.claude/skills", "/p/.agents/skills/x", "../../.agents/skills/x"),
            ("/p/.agents/skills", "/p/skills/x", "../../skills/x"),
            ("/p/.agents/skills", "/p/.agents/skills/x", "x"),
            ("/a", "/b/c", "../b/c"),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), Path::new(expect));
        }
    }
}
