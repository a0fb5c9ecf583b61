//! A checkout, and its git directories.

use std::fs;
use std::path::{Path, PathBuf};

use super::{settings, settings_paths};
use crate::{ExecError, ExecErrorKind};

const NOT_MUTUAL: &str = "its .git leads to a git directory that does not name this checkout; `git worktree repair` repairs moved worktrees";
const NO_POINTER: &str = "its .git is neither a directory nor a file that leads to one";

/// A checkout with its git directories. No path contains symbolic links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    pub(crate) top: PathBuf,
    /// The git directory of this checkout alone.
    pub(crate) own: PathBuf,
    /// The git directory that all checkouts of the repository share.
    pub(crate) common: PathBuf,
}

impl Repository {
    /// Returns the repository whose checkout is at `top`.
    ///
    /// A `.git` file could point anywhere, so it is accepted only if the git directory points back to this
    /// checkout, as that of a linked worktree or a submodule does.
    pub(crate) fn at(top: &Path) -> Result<Self, ExecError> {
        let refused = |text: &str| ExecError::new(ExecErrorKind::Repository).at(top).saying(text);
        let top = top.canonicalize().map_err(|error| refused(NO_POINTER).because(error))?;
        let inner = top.join(".git");
        let metadata = fs::symlink_metadata(&inner).map_err(|error| refused(NO_POINTER).because(error))?;
        if metadata.is_dir() {
            return Ok(Self { own: inner.clone(), common: inner, top });
        }
        let own = settings_paths::pointed_at(&inner, &top).and_then(|own| own.canonicalize().ok());
        let own = own.ok_or_else(|| refused(NO_POINTER))?;
        let common = worktree(&own, &inner).or_else(|| submodule(&own, &top));
        Ok(Self { common: common.ok_or_else(|| refused(NOT_MUTUAL))?, own, top })
    }

    /// Returns the directories of the repository that a command must see. None lies in another.
    pub(crate) fn places(&self) -> Vec<&Path> {
        let common = Some(self.common.as_path()).filter(|common| !common.starts_with(&self.top));
        [self.top.as_path()].into_iter().chain(common).collect()
    }
}

/// Returns the shared git directory, if `own` is that of the linked worktree whose `.git` is `inner`.
fn worktree(own: &Path, inner: &Path) -> Option<PathBuf> {
    let common = own.join(settings_paths::pointer(&own.join("commondir"))?).canonicalize().ok()?;
    let back = own.join(settings_paths::pointer(&own.join("gitdir"))?);
    // The last name is the `.git` file itself; a symbolic link there is not followed.
    let back = back.parent()?.canonicalize().ok()?.join(back.file_name()?);
    let is_one = own.parent() == Some(&common.join("worktrees")) && settings_paths::is_directory(&common);
    (is_one && back == inner).then_some(common)
}

fn submodule(own: &Path, top: &Path) -> Option<PathBuf> {
    let tree = settings::value(&own.join("config"), "core", "worktree")?;
    let is_one = settings_paths::is_directory(own) && own.join(tree).canonicalize().ok()? == top;
    is_one.then(|| own.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn root() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for path in ["main/.git/objects/x", "main/.git/refs/x"] {
            write(&root, path, "");
        }
        write(&root, "main/.git/HEAD", "ref: refs/heads/main\n");
        (directory, root)
    }

    #[test]
    fn a_linked_worktree_must_point_back_to_the_checkout() {
        let (_directory, root) = root();
        let plain = Repository::at(&root.join("main")).unwrap();
        assert_eq!(plain.places(), [root.join("main")]);
        write(
            &root,
            "linked/.git",
            &format!("gitdir: {}\n", root.join("main/.git/worktrees/linked").display()),
        );
        write(&root, "main/.git/worktrees/linked/commondir", "../..\n");
        let back = root.join("linked/.git").display().to_string();
        write(&root, "main/.git/worktrees/linked/gitdir", &format!("{back}\n"));
        let linked = Repository::at(&root.join("linked")).unwrap();
        assert_eq!(linked.places(), [root.join("linked"), root.join("main/.git")]);
        // Another checkout cannot claim it.
        write(
            &root,
            "thief/.git",
            &format!("gitdir: {}\n", root.join("main/.git/worktrees/linked").display()),
        );
        let error = Repository::at(&root.join("thief")).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::Repository);
        write(&root, "thief/.git", &format!("gitdir: {}\n", root.join("main/.git").display()));
        Repository::at(&root.join("thief")).unwrap_err();
        write(&root, "thief/.git", "nonsense");
        Repository::at(&root.join("thief")).unwrap_err();
        Repository::at(&root.join("nowhere")).unwrap_err();
    }

    #[test]
    fn a_submodule_must_point_back_to_the_checkout() {
        let (_directory, root) = root();
        for path in ["objects/x", "refs/x", "HEAD"] {
            write(&root, &format!("main/.git/modules/sub/{path}"), "");
        }
        write(&root, "main/sub/.git", "gitdir: ../.git/modules/sub\n");
        write(&root, "main/.git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n");
        let sub = Repository::at(&root.join("main/sub")).unwrap();
        assert_eq!(sub.places(), [root.join("main/sub"), root.join("main/.git/modules/sub")]);
        write(&root, "main/.git/modules/sub/config", "[core]\n\tworktree = ../../../other\n");
        Repository::at(&root.join("main/sub")).unwrap_err();
    }
}
