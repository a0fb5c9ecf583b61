//! Where skills come from.
//!
//! A [`Provider`] lists skills and reads their files. It never decides which of two skills wins and never renders
//! anything. Implementors: return what is there, report what is broken as problems in the [`Listing`], and fail only
//! when nothing at all can be said. The suite in [`crate::testing`] holds every implementation to this page.

pub mod fs;
pub mod memory;

use std::future::Future;
use std::pin::Pin;

use repertoire_model::{Bundle, BundleFile, Diagnostic, Digest, Document, FileEntry, LineRange, SkillPath};

use crate::{Error, ErrorKind};

/// A boxed future, so that providers of different kinds can stand in one list.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A provider's own handle for one of its skills; opaque to everyone else.
///
/// A skill's *name* is never turned into a path: names come from skill authors and from models, locators come from
/// the provider that listed the skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator(Box<str>);

impl Locator {
    /// Returns the locator that the provider knows as `text`.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text the provider gave it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One skill of a [`Listing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The provider's handle for it.
    pub locator: Locator,
    /// Where a person finds it: for the file system, the path of its directory.
    pub path: String,
    /// The name of its `SKILL.md` within the skill, which some spell differently.
    pub manifest_file: String,
    /// What tells whether two sources lead to the very same skill; for the file system, its resolved directory.
    pub identity: Option<String>,
    /// Its `SKILL.md`, taken apart.
    pub document: Document,
}

/// Something wrong with a source that is not wrong with one of its skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub path: String,
    /// What it is.
    pub diagnostic: Diagnostic,
}

/// What a source holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The skills, sorted by locator.
    pub skills: Vec<Listed>,
    /// What went wrong on the way.
    pub problems: Vec<Problem>,
}

/// A skill with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its `SKILL.md`, taken apart.
    pub document: Document,
    /// The whole of its `SKILL.md`.
    pub text: String,
}

impl Skill {
    /// Returns the instructions: everything after the frontmatter, byte for byte.
    pub fn body(&self) -> &str {
        self.text.get(self.document.body.offset..).unwrap_or_default()
    }
}

/// The files of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileListing {
    /// The files, sorted bytewise by path; hidden ones, links and special files are not among them.
    pub files: Vec<FileEntry>,
    /// What was left out, and why.
    pub problems: Vec<Diagnostic>,
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// The bytes asked for: the whole file, or the lines of the range.
    pub bytes: Vec<u8>,
    /// The size of the whole file.
    pub size: u64,
    /// The first line in `bytes`.
    pub first_line: usize,
    /// How many lines `bytes` holds.
    pub lines: usize,
    /// How many lines the whole file has.
    pub total_lines: usize,
}

impl FileContent {
    /// Returns the part of `bytes` that `lines` names.
    pub fn of(bytes: &[u8], lines: LineRange) -> Self {
        let excerpt = lines.apply(bytes);
        Self {
            bytes: excerpt.bytes.to_vec(),
            size: bytes.len() as u64,
            first_line: excerpt.first_line,
            lines: excerpt.lines,
            total_lines: excerpt.total_lines,
        }
    }
}

/// A source of skills.
pub trait Provider: Send + Sync {
    /// Returns the name of the source, unique within a registry, as in `project:.agents/skills`.
    fn label(&self) -> &str;

    /// Returns every skill of the source, sound or not.
    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>>;

    /// Returns the skill at `locator` as it is now, or `None` if there is none (any more).
    fn get<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<Skill>, Error>>;

    /// Returns the files of the skill at `locator`.
    ///
    /// Fails with [`ErrorKind::SkillNotFound`] if there is none.
    fn files<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<FileListing, Error>>;

    /// Returns the lines `lines` of the file `path` of the skill at `locator`.
    ///
    /// Fails with [`ErrorKind::SkillNotFound`], [`ErrorKind::FileNotFound`], [`ErrorKind::IsDirectory`],
    /// [`ErrorKind::Forbidden`] (hidden files, links, special files) or [`ErrorKind::TooLarge`].
    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>>;

    /// Returns every file of the skill at `locator` with its digest.
    fn bundle<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Bundle, Error>> {
        Box::pin(async move {
            let mut files = Vec::new();
            for FileEntry { path, executable, .. } in self.files(locator).await?.files {
                let content = match self.read(locator, &path, LineRange::default()).await {
                    Ok(content) => content,
                    // A file that vanished between listing and reading is no longer part of the bundle.
                    Err(error) if error.kind() == ErrorKind::FileNotFound => continue,
                    Err(error) => return Err(error),
                };
                files.push(BundleFile {
                    path,
                    size: content.size,
                    executable,
                    digest: Digest::of(&content.bytes),
                });
            }
            Ok(Bundle::new(files))
        })
    }

    /// Returns the digest of the bundle, which a provider may know without reading every file.
    fn digest<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Digest, Error>> {
        Box::pin(async move { Ok(self.bundle(locator).await?.digest()) })
    }

    /// Returns what the provider can remember about its skills from one run to the next, if it can.
    fn memo(&self) -> Option<&dyn Memo> {
        None
    }
}

/// How many tokens the parts of a skill make, as far as they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    /// Those of the body.
    pub body: Option<u64>,
    /// Those of its entry in the catalog.
    pub entry: Option<u64>,
}

/// What a provider remembers about its skills, so that it need not be worked out at every start.
///
/// Everything is about the skill as it was last listed, and forgotten when its `SKILL.md` changes.
pub trait Memo: Send + Sync {
    /// Returns the counts of `tokenizer` for the skill at `locator`.
    fn token_counts(&self, locator: &Locator, tokenizer: &str) -> Option<TokenCounts>;

    /// Remembers the counts of `tokenizer` for the skill at `locator`.
    fn set_token_counts(&self, locator: &Locator, tokenizer: &str, counts: TokenCounts);

    /// Keeps what was remembered for the next run; where that fails it is merely worked out again.
    fn save(&self) -> BoxFuture<'_, ()>;
}
