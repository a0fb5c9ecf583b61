//! Fetches a source into a directory.

use std::path::{Path, PathBuf};

use crate::git::{self, GitPrompt};
use crate::scratch::Scratch;
use crate::source::{GitSource, Source};
use crate::{Error, ErrorKind};

/// Options of fetching.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FetchOptions {
    /// The directory for scratch directories.
    pub scratch: PathBuf,
    /// Decides if git may ask for credentials.
    pub prompt: GitPrompt,
}

impl FetchOptions {
    /// Returns options with scratch directories in `scratch`; nobody is asked for credentials.
    pub fn new(scratch: impl Into<PathBuf>) -> Self {
        Self { scratch: scratch.into(), prompt: GitPrompt::Never }
    }
}

/// A source that was fetched.
#[derive(Debug)]
pub struct FetchedTree {
    /// The directory with its files.
    pub(crate) root: PathBuf,
    /// The directory of the root in the source, if only that was fetched.
    pub(crate) below: Option<String>,
    /// The source; a branch that was not known before is now.
    pub source: Source,
    /// The exact version: a commit, a digest, or the version of a package. None for a directory, which has no versions.
    pub resolved: Option<String>,
    /// Files that were left out, with the reason.
    pub left_out: Vec<String>,
    _scratch: Option<Scratch>,
}

/// Fetches `source`.
pub fn fetch(source: &Source, options: &FetchOptions) -> Result<FetchedTree, Error> {
    match source {
        Source::Directory(path) => directory(source, path),
        Source::Git(git) => repository(git, options),
        other => Err(Error::new(ErrorKind::InvalidSource, format!("{other} cannot be fetched"))),
    }
}

/// Returns the exact version that `source` has now, where that can be known without fetching it.
pub(crate) fn newest_version(source: &Source, options: &FetchOptions) -> Result<Option<String>, Error> {
    let Source::Git(git) = source else { return Ok(None) };
    if let Some(reference) = git.reference.as_deref().filter(|reference| is_commit(reference)) {
        return Ok(Some(reference.to_owned()));
    }
    let scratch = Scratch::create(&options.scratch)?;
    git::newest_commit(&git.url, git.reference.as_deref(), scratch.path(), options.prompt)
}

/// Returns `true` if `reference` is a whole commit.
fn is_commit(reference: &str) -> bool {
    [40, 64].contains(&reference.len()) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn directory(source: &Source, path: &Path) -> Result<FetchedTree, Error> {
    let metadata = path.metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NotFound, format!("there is no directory {}", path.display()))
        }
        _ => Error::io("read", path, error),
    })?;
    if !metadata.is_dir() {
        let message = format!("{} is neither a directory nor an archive", path.display());
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    Ok(FetchedTree {
        root: path.to_owned(),
        below: None,
        source: source.clone(),
        resolved: None,
        left_out: Vec::new(),
        _scratch: None,
    })
}

fn repository(source: &GitSource, options: &FetchOptions) -> Result<FetchedTree, Error> {
    let scratch = Scratch::create(&options.scratch)?;
    let tree = scratch.path().join("tree");
    let fetched = git::fetch(source, scratch.path(), &tree, options.prompt)?;
    let root = fetched.path.as_ref().map_or_else(|| tree.clone(), |path| tree.join(path));
    let git = GitSource {
        url: source.url.clone(),
        reference: fetched.reference,
        path: fetched.path.clone(),
        tree: None,
    };
    Ok(FetchedTree {
        root,
        below: fetched.path,
        source: Source::Git(git),
        resolved: Some(fetched.commit),
        left_out: fetched.left_out,
        _scratch: Some(scratch),
    })
}
