//! The type of an origin, and the comparison of a skill with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use repertoire_model::{Bundle, BundleFile, Digest, SkillPath};

use super::hashes;
use super::installed_files::{InstalledFile, InstalledFiles};
use super::installer::Installer;

/// The most characters of a recorded text that are kept.
const MAX_CHARS: usize = 1_000;

/// The origin of a skill, as an installer recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The installer.
    pub installer: Installer,
    /// The file that it is recorded in.
    pub record: PathBuf,
    /// The name of the skill in the record.
    pub name: String,
    /// The repository, registry or directory that it was installed from, as recorded.
    pub source: Option<String>,
    /// The path of the skill in the source.
    pub path: Option<String>,
    /// The branch, tag or reference that was asked for.
    pub reference: Option<String>,
    /// The commit that it was installed from.
    pub commit: Option<String>,
    /// The version that was installed.
    pub version: Option<String>,
    /// The time of the installation, as recorded.
    pub installed_at: Option<String>,
    /// The content that was installed.
    pub expectation: Expectation,
}

/// The content that was installed, as far as a record tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expectation {
    /// The record tells nothing that could be compared, for this reason.
    Unknown(&'static str),
    /// The hash of all files that `npx skills` computes.
    FolderHash(String),
    /// The name of a git tree.
    GitTree(String),
    /// The fingerprint of text files that ClawHub computes.
    Fingerprint(String),
    /// The hash of each file by its path in the skill, as APM computes it.
    FileHashes(BTreeMap<String, String>),
    /// The digests of the files that are not hidden, as `rep add` computes them.
    VisibleFiles {
        /// The digest of each file by its path in the skill.
        files: BTreeMap<String, String>,
        /// The digest of all of them, which depends on which of them are executable.
        bundle: Digest,
    },
}

/// The result of comparing a skill with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// It is as it was installed.
    Unchanged,
    /// It was changed since; the files are named where the record tells them.
    Changed {
        /// The paths in the skill of files that were changed, added or removed.
        files: Vec<String>,
    },
    /// Only the executable bits of some files were changed since; the record does not tell of which.
    ModeChanged,
    /// It cannot be compared, for this reason.
    Unknown(String),
}

impl Comparison {
    /// Returns `true` if the skill was changed since it was installed.
    pub fn is_changed(&self) -> bool {
        matches!(self, Self::Changed { .. } | Self::ModeChanged)
    }

    /// Returns the word used on every surface.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed { .. } | Self::ModeChanged => "changed",
            Self::Unknown(_) => "unknown",
        }
    }
}

impl Origin {
    /// Returns an origin that nothing is known of but its record.
    pub(super) fn new(installer: Installer, record: PathBuf, name: &str) -> Self {
        Self {
            installer,
            record,
            name: bounded(name),
            source: None,
            path: None,
            reference: None,
            commit: None,
            version: None,
            installed_at: None,
            expectation: Expectation::Unknown("the installer records no hash of the files"),
        }
    }

    /// Compares the skill with `files` with what was installed.
    pub fn compare(&self, files: &InstalledFiles) -> Comparison {
        let whole = |expected: &str, found: Option<String>| match found {
            Some(found) if found.eq_ignore_ascii_case(expected) => Comparison::Unchanged,
            Some(_) => Comparison::Changed { files: Vec::new() },
            None => Comparison::Unknown(
                "the names of its files have no order that is the same everywhere".to_owned(),
            ),
        };
        if let Some(fault) = &files.fault {
            return Comparison::Unknown(fault.clone());
        }
        match &self.expectation {
            Expectation::Unknown(reason) => Comparison::Unknown((*reason).to_owned()),
            Expectation::FolderHash(expected) => match hashes::is_folder_hash(files, expected) {
                Some(true) => Comparison::Unchanged,
                Some(false) => Comparison::Changed { files: Vec::new() },
                None => Comparison::Unknown("the hash depends on the locale of the installer".to_owned()),
            },
            // The installer leaves out files such as `metadata.json`, so another tree proves nothing.
            Expectation::GitTree(expected) => match whole(expected, Some(hashes::git_tree(files))) {
                Comparison::Unchanged => Comparison::Unchanged,
                _ => Comparison::Unknown(
                    "its files are not the recorded git tree: they were changed, or the installer left some out".to_owned(),
                ),
            },
            Expectation::Fingerprint(expected) => match whole(expected, hashes::fingerprint(files)) {
                Comparison::Changed { .. } if !files.are_text() => {
                    Comparison::Unknown("the installer hashes text files alone, and there are others".to_owned())
                }
                other => other,
            },
            Expectation::FileHashes(expected) => {
                compare_files(files.files.iter(), expected, hashes::file_hash)
            }
            Expectation::VisibleFiles { files: expected, bundle } => {
                let is_visible = |file: &&InstalledFile| SkillPath::new(&file.path).is_ok_and(|path| !path.is_hidden());
                let visible = || files.files.iter().filter(is_visible);
                match compare_files(visible(), expected, |bytes| Digest::of(bytes).to_hex()) {
                    Comparison::Unchanged if cfg!(unix) && digest_of(visible()) != *bundle => {
                        Comparison::ModeChanged
                    }
                    compared => compared,
                }
            }
        }
    }

    /// Returns the source in one line: repository or registry, path in it, and version, commit or reference.
    pub fn in_words(&self) -> Option<String> {
        let mut words = self.source.clone()?;
        if let Some(path) = self.path.as_deref().filter(|path| !path.is_empty() && *path != ".") {
            words.push_str(&format!(" ({path})"));
        }
        let commit = self.commit.as_deref().map(|commit| commit.chars().take(12).collect::<String>());
        let at = commit.or_else(|| self.version.clone()).or_else(|| self.reference.clone());
        if let Some(at) = at.map(short_digest) {
            words.push_str(&format!(" at {at}"));
        }
        Some(words)
    }
}

/// Returns `version` as it is shown: digests, which archives have for versions, by their start.
fn short_digest(version: String) -> String {
    match version.strip_prefix("sha256:") {
        Some(digits) => digits.chars().take(12).collect(),
        None => version,
    }
}

/// Returns the digest of `files` as a lock has it.
fn digest_of<'a>(files: impl Iterator<Item = &'a InstalledFile>) -> Digest {
    let listed = files.filter_map(|file| {
        Some(BundleFile {
            path: SkillPath::new(&file.path).ok()?,
            size: file.bytes.len() as u64,
            executable: file.is_executable,
            digest: Digest::of(&file.bytes),
        })
    });
    Bundle::new(listed.collect()).digest()
}

fn compare_files<'a>(
    files: impl Iterator<Item = &'a InstalledFile>,
    expected: &BTreeMap<String, String>,
    hash: impl Fn(&[u8]) -> String,
) -> Comparison {
    let mut differing: Vec<String> = Vec::new();
    let mut found_paths: BTreeSet<&str> = BTreeSet::new();
    for file in files {
        found_paths.insert(&file.path);
        let found = hash(&file.bytes);
        let is_same =
            |hash: &String| hash.strip_prefix("sha256:").unwrap_or(hash).eq_ignore_ascii_case(&found);
        if !expected.get(&file.path).is_some_and(is_same) {
            differing.push(file.path.clone());
        }
    }
    let is_gone = |path: &&String| !found_paths.contains(path.as_str());
    differing.extend(expected.keys().filter(is_gone).cloned());
    differing.sort();
    if differing.is_empty() { Comparison::Unchanged } else { Comparison::Changed { files: differing } }
}

/// Returns `text` without control characters, bounded: it comes from a file that anyone may have written.
pub(super) fn bounded(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(MAX_CHARS).collect()
}
