//! Fetches a source into a directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use repertoire::regular_file;
use repertoire_model::Digest;

use crate::archive::{self, MAX_PACKED};
use crate::fetch_options::FetchOptions;
use crate::git;
use crate::http::SourceClient;
use crate::marketplace::{PluginElsewhere, plugins_elsewhere};
use crate::scratch::Scratch;
use crate::source::{GitSource, Source};
use crate::tree::{LIMITS, TreeWriter};
use crate::{Error, ErrorKind, packages, well_known};

/// A source that was fetched.
#[derive(Debug)]
#[non_exhaustive]
pub struct FetchedTree {
    /// The directory with its files.
    pub(crate) root: PathBuf,
    /// The directory of the root in the source, if only that was fetched.
    pub(crate) below: Option<String>,
    /// The source; a branch that was not known before is now.
    pub source: Source,
    /// The exact version: a commit, a digest, or the version of a package. None for a directory, which has no versions, and for an
    /// index, whose skills have digests of their own.
    pub resolved: Option<String>,
    /// The digests of single skills, by their directories.
    digests: BTreeMap<String, String>,
    /// Files that were left out, with the reason.
    pub left_out: Vec<String>,
    /// The plugins of a marketplace that lie elsewhere.
    pub plugins: Vec<PluginElsewhere>,
    _scratch: Option<Scratch>,
}

impl FetchedTree {
    /// Returns the exact version of the skill in the directory `path` of the source.
    pub fn resolved_of(&self, path: &str) -> Option<String> {
        self.digests.get(path).or(self.resolved.as_ref()).cloned()
    }
}

/// Fetches `source`.
pub fn fetch(source: &Source, options: &FetchOptions) -> Result<FetchedTree, Error> {
    match source {
        Source::Directory(path) => directory(source, path),
        Source::Git(git) => repository(git, options),
        Source::ArchiveFile(path) => {
            let bytes = regular_file::read(path, MAX_PACKED).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::new(ErrorKind::NotFound, format!("there is no archive {}", path.display()))
                }
                std::io::ErrorKind::FileTooLarge => too_large(&path.display().to_string()),
                _ => Error::io("read", path, error),
            })?;
            archive(source, &path.display().to_string(), &bytes, options)
        }
        Source::ArchiveUrl(url) => {
            let bytes =
                SourceClient::new(url, options.token.as_deref(), &options.http).get(url, MAX_PACKED)?;
            let none = || Error::new(ErrorKind::NotFound, format!("there is nothing at {url}"));
            archive(source, url, &bytes.ok_or_else(none)?, options)
        }
        Source::WellKnown(url) => unpacked(source, options, |tree| {
            let fetched = well_known::fetch(url, options, tree)?;
            Ok((None, fetched.digests.into_iter().collect(), fetched.left_out))
        }),
        Source::Npm(package) => unpacked(source, options, |tree| {
            let version = packages::npm(package, options, tree)?;
            Ok((Some(version), BTreeMap::new(), Vec::new()))
        }),
        Source::Pypi(package) => unpacked(source, options, |tree| {
            let version = packages::pypi(package, options, tree)?;
            Ok((Some(version), BTreeMap::new(), Vec::new()))
        }),
    }
}

fn too_large(name: &str) -> Error {
    let message = format!("{name} has more than {} MiB", MAX_PACKED >> 20);
    Error::new(ErrorKind::Refused, message).hint("unpack it, and add the directory")
}

fn archive(source: &Source, name: &str, bytes: &[u8], options: &FetchOptions) -> Result<FetchedTree, Error> {
    let digest = Digest::of(bytes).to_string();
    unpacked(source, options, |tree| {
        archive::unpack(name, bytes, "", tree)?;
        Ok((Some(digest.clone()), BTreeMap::new(), Vec::new()))
    })
}

/// The version, the digests of single skills, and what was left out.
type UnpackedSource = (Option<String>, BTreeMap<String, String>, Vec<String>);

/// Returns the tree of a source that `fill` writes.
fn unpacked(
    source: &Source,
    options: &FetchOptions,
    fill: impl Fn(&mut TreeWriter) -> Result<UnpackedSource, Error>,
) -> Result<FetchedTree, Error> {
    let scratch = Scratch::create(&options.scratch)?;
    let tree = scratch.path().join("tree");
    let (resolved, digests, left_out) = fill(&mut TreeWriter::create(&tree, LIMITS)?)?;
    let is_index = matches!(source, Source::WellKnown(_));
    Ok(FetchedTree {
        root: if is_index { tree } else { without_wrapper(tree) },
        below: None,
        source: source.clone(),
        resolved,
        digests,
        left_out,
        plugins: Vec::new(),
        _scratch: Some(scratch),
    })
}

/// Returns the only directory in `tree`, if there is nothing else and it is no skill itself: most archives have one around everything.
fn without_wrapper(tree: PathBuf) -> PathBuf {
    let children: Vec<PathBuf> =
        fs::read_dir(&tree).into_iter().flatten().flatten().map(|child| child.path()).collect();
    match children.as_slice() {
        [only] if only.is_dir() => only.clone(),
        _ => tree,
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
        return Err(
            Error::new(ErrorKind::NotFound, message).hint("archives are .zip, .skill, .tar and .tar.gz")
        );
    }
    let (plugins, left_out) = plugins_and_note(path);
    Ok(FetchedTree {
        root: path.to_owned(),
        below: None,
        source: source.clone(),
        resolved: None,
        digests: BTreeMap::new(),
        left_out,
        plugins,
        _scratch: None,
    })
}

fn repository(source: &GitSource, options: &FetchOptions) -> Result<FetchedTree, Error> {
    let scratch = Scratch::create(&options.scratch)?;
    let tree = scratch.path().join("tree");
    let fetched = git::fetch(source, scratch.path(), &tree, options.prompt)?;
    let (mut left_out, mut plugins) = (fetched.left_out, Vec::new());
    if fetched.path.is_none() {
        let (found, note) = plugins_and_note(&tree);
        plugins = found;
        left_out.extend(note);
    }
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
        digests: BTreeMap::new(),
        left_out,
        plugins,
        _scratch: Some(scratch),
    })
}

/// Returns the plugins of the marketplace in `root` that lie elsewhere, and notes about it.
fn plugins_and_note(root: &Path) -> (Vec<PluginElsewhere>, Vec<String>) {
    match plugins_elsewhere(root) {
        Ok(plugins) => (plugins, Vec::new()),
        Err(note) => (Vec::new(), vec![note]),
    }
}
