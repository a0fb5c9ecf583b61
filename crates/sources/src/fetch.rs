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

/// The sample library, packed by the test below.
const SAMPLES: &[u8] = include_bytes!("samples.tar.gz");

/// A source that was fetched.
#[derive(Debug)]
#[non_exhaustive]
pub struct FetchedTree {
    pub(crate) root: PathBuf,
    /// The directory of the root in the source, if only that was fetched.
    pub(crate) below: Option<String>,
    /// The source; a branch that was not known before is now.
    pub source: Source,
    /// The exact version: a commit, a digest, or the version of a package. None for a directory, which has no
    /// versions, and for an index, whose skills have digests of their own.
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
        Source::Samples => archive(source, "the sample library", SAMPLES, options),
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

/// Returns the only directory in `tree`, if there is nothing else and it is not a skill itself: most archives
/// have one around everything.
fn without_wrapper(tree: PathBuf) -> PathBuf {
    let children: Vec<PathBuf> =
        fs::read_dir(&tree).into_iter().flatten().flatten().map(|child| child.path()).collect();
    match children.as_slice() {
        [only] if only.is_dir() => only.clone(),
        _ => tree,
    }
}

/// Returns the exact version that `source` has now, where that can be known without fetching it.
pub fn newest_version(source: &Source, options: &FetchOptions) -> Result<Option<String>, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::tests::repository::{TestRepository, skill};
    use crate::source::SourceText;

    #[test]
    fn whole_commits_are_told_from_other_references() {
        let check = |text: &str, expect: bool| assert_eq!(is_commit(text), expect, "{text}");
        check(&"0a".repeat(20), true);
        check(&"F1".repeat(32), true);
        check(&"0a".repeat(19), false);
        check(&"0g".repeat(20), false);
        check("main", false);
        check("", false);
    }

    #[test]
    fn the_only_directory_of_an_archive_is_the_source() {
        let check = |files: &[&str], expect: &str| {
            let root = tempfile::tempdir().unwrap();
            for file in files {
                let path = root.path().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "x").unwrap();
            }
            assert_eq!(without_wrapper(root.path().to_owned()), root.path().join(expect), "{files:?}");
        };
        check(&["repo-main/SKILL.md"], "repo-main");
        check(&["repo-main/a/SKILL.md", "repo-main/b/SKILL.md"], "repo-main");
        check(&["SKILL.md"], "");
        check(&["a/SKILL.md", "b/SKILL.md"], "");
        check(&["a/SKILL.md", "README.md"], "");
        check(&[], "");
    }

    /// Returns the error of fetching `text`, whose paths count from `directory`.
    fn failure(text: &str, directory: &Path) -> Error {
        let source = SourceText::parse(text, directory, None).unwrap().source;
        fetch(&source, &FetchOptions::new(directory.join("scratch"))).unwrap_err()
    }

    #[test]
    fn sources_that_are_not_there_or_not_sound_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("text.zip"), "no archive").unwrap();
        fs::write(directory.path().join("file"), "no directory").unwrap();
        let large = fs::File::create(directory.path().join("large.zip")).unwrap();
        large.set_len(MAX_PACKED + 1).unwrap();
        let check = |text: &str, kind: ErrorKind, reason: &str| {
            let error = failure(text, directory.path());
            assert_eq!(error.kind(), kind, "{text}: {error}");
            assert!(error.to_string().contains(reason), "{error}");
        };
        check("./missing", ErrorKind::NotFound, "there is no directory");
        check("./file", ErrorKind::NotFound, "neither a directory nor an archive");
        check("missing.zip", ErrorKind::NotFound, "there is no archive");
        check("text.zip", ErrorKind::Refused, "neither zip nor tar nor tar.gz");
        check("large.zip", ErrorKind::Refused, "more than 10 MiB");
        check("file:///no/such/repository", ErrorKind::NotFound, "there is no repository");
    }

    #[test]
    fn an_archive_has_its_digest_as_version_and_is_removed_with_the_tree() {
        let directory = tempfile::tempdir().unwrap();
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_ustar();
        header.set_size(1);
        header.set_mode(0o644);
        builder.append_data(&mut header, "wrapper/SKILL.md", &b"x"[..]).unwrap();
        let bytes = builder.into_inner().unwrap();
        let path = directory.path().join("a.tar");
        fs::write(&path, &bytes).unwrap();
        let scratch = directory.path().join("scratch");
        let tree = fetch(&Source::ArchiveFile(path), &FetchOptions::new(&scratch)).unwrap();
        assert_eq!(tree.resolved, Some(Digest::of(&bytes).to_string()));
        assert_eq!(tree.resolved_of("any"), tree.resolved);
        assert!(tree.root.ends_with("wrapper") && tree.root.join("SKILL.md").is_file());
        drop(tree);
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
    }

    /// Returns the files below `directory` with their bytes and the executable bit.
    #[allow(clippy::disallowed_methods, reason = "the test reads what was packed")]
    fn files_below(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, bool)> {
        let mut found = BTreeMap::new();
        let mut open = vec![directory.to_owned()];
        while let Some(path) = open.pop() {
            for child in fs::read_dir(path).unwrap() {
                let path = child.unwrap().path();
                if path.ends_with("__pycache__") {
                    continue;
                }
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                #[cfg(unix)]
                let executable =
                    std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o100
                        != 0;
                #[cfg(not(unix))]
                let executable = false;
                let name = path.strip_prefix(directory).unwrap().to_owned();
                found.insert(name, (fs::read(&path).unwrap(), executable));
            }
        }
        found
    }

    #[cfg(unix)]
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a variable says that the samples are packed anew")]
    fn the_packed_samples_are_those_of_the_repository() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
        if !directory.is_dir() {
            // The packed crate has only what was packed.
            return;
        }
        let expect = files_below(&directory);
        let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/samples.tar.gz");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let gzip = flate2::GzBuilder::new()
                .write(fs::File::create(&packed).unwrap(), flate2::Compression::best());
            let mut builder = tar::Builder::new(gzip);
            for (path, (bytes, executable)) in &expect {
                let mut header = tar::Header::new_ustar();
                header.set_size(bytes.len() as u64);
                header.set_mode(if *executable { 0o755 } else { 0o644 });
                builder.append_data(&mut header, path, &bytes[..]).unwrap();
            }
            builder.into_inner().unwrap().finish().unwrap();
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let source = Source::ArchiveFile(packed);
        let tree = fetch(&source, &FetchOptions::new(scratch.path())).unwrap();
        let is_same = files_below(&tree.root) == expect;
        let command = "UPDATE_DOCS=1 cargo test -p repertoire-sources samples";
        assert!(is_same, "skills/ was changed: pack it with `{command}`, and run the test again");
        let source = Source::Samples;
        let tree = fetch(&source, &FetchOptions::new(scratch.path())).unwrap();
        let names: Vec<String> = crate::find_skills(&tree, &repertoire_model::Policy::default())
            .into_iter()
            .map(|skill| skill.name.to_string())
            .collect();
        assert!(names.len() > 20 && names.iter().any(|name| name == "backend"), "{names:?}");
        assert!(tree.resolved.is_some());
    }

    #[test]
    fn the_newest_version_is_known_of_repositories_alone() {
        let repository = TestRepository::with(&[("SKILL.md", &skill("a", "A.\n"))]);
        let commit = repository.git(&["rev-parse", "HEAD"]);
        let scratch = tempfile::tempdir().unwrap();
        let check = |source: Source, expect: Option<&str>| {
            let found = newest_version(&source, &FetchOptions::new(scratch.path())).unwrap();
            assert_eq!(found.as_deref(), expect, "{source}");
        };
        check(repository.newest(), Some(&commit));
        check(Source::Git(repository.source(Some("main"), None)), Some(&commit));
        check(Source::Git(repository.source(Some("gone"), None)), None);
        // A commit is asked of nobody.
        let pinned = "1".repeat(40);
        let elsewhere =
            GitSource { url: "https://a.invalid/r".to_owned(), ..repository.source(Some(&pinned), None) };
        check(Source::Git(elsewhere), Some(&pinned));
        check(Source::Directory(repository.path()), None);
        check(Source::WellKnown("https://a.invalid".to_owned()), None);
    }

    #[test]
    fn a_repository_is_fetched_with_its_commit_and_its_marketplace() {
        let marketplace = r#"{"plugins": [{"name": "x", "source": {"source": "github", "repo": "o/x"}}]}"#;
        let repository = TestRepository::with(&[
            ("skills/a/SKILL.md", &skill("a", "A.\n")),
            (crate::marketplace::MARKETPLACE_FILE, marketplace),
        ]);
        let scratch = tempfile::tempdir().unwrap();
        let fetched = |path| {
            let source = Source::Git(repository.source(None, path));
            fetch(&source, &FetchOptions::new(scratch.path())).unwrap()
        };
        let whole = fetched(None);
        assert_eq!((whole.plugins.len(), whole.below.as_deref()), (1, None));
        assert_eq!(whole.resolved, Some(repository.git(&["rev-parse", "HEAD"])));
        let part = fetched(Some("skills/a"));
        assert_eq!((part.plugins.len(), part.below.as_deref()), (0, Some("skills/a")));
        assert!(part.root.join("SKILL.md").is_file());
    }
}
