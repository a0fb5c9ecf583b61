//! Listings of a source: its skills, and the files of a skill.

use std::borrow::Cow;
use std::sync::Arc;

use repertoire_model::validate::Reporter;
use repertoire_model::{Diagnostic, Document, FileEntry, Policy, RuleId};

/// A provider's own handle for one of its skills; opaque to everyone else.
///
/// A skill's *name* is never turned into a path: names come from skill authors and from models, locators come
/// from the provider that listed the skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator(Arc<str>);

impl Locator {
    /// Returns the locator that the provider knows as `text`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the text the provider gave it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One skill of a [`Listing`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedSkill {
    /// The provider's handle for it.
    pub locator: Locator,
    /// The location shown to people: for the file system, the path of its directory.
    pub path: Arc<str>,
    /// The name of its `SKILL.md` within the skill, which some spell differently.
    pub manifest_file: Cow<'static, str>,
    /// A text that is equal if two sources lead to the same skill; for files, its resolved directory.
    pub identity: Option<Arc<str>>,
    /// Its parsed `SKILL.md`.
    pub document: Arc<Document>,
}

impl ListedSkill {
    /// Returns a skill shown to people as `path`, with a `SKILL.md` of that spelling and no identity.
    pub fn new(locator: Locator, path: impl Into<Arc<str>>, document: Document) -> Self {
        Self {
            locator,
            path: path.into(),
            manifest_file: "SKILL.md".into(),
            identity: None,
            document: Arc::new(document),
        }
    }
}

/// A problem of a source that is not a problem of one of its skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The location of the problem.
    pub path: String,
    /// Its description.
    pub diagnostic: Diagnostic,
}

impl Problem {
    /// Returns the problem `message` at `path`, unless `policy` turns `rule` off.
    pub(crate) fn new(policy: &Policy, rule: RuleId, path: String, message: String) -> Option<Self> {
        let mut reporter = Reporter::new(policy);
        reporter.report(rule, message);
        reporter.finish().pop().map(|diagnostic| Self { path, diagnostic })
    }
}

/// The skills of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The skills, sorted by locator; shared by all listings and snapshots that hold them.
    pub skills: Vec<Arc<ListedSkill>>,
    /// The problems found while listing.
    pub problems: Vec<Problem>,
}

impl Listing {
    /// Returns a listing of `skills` without problems.
    pub fn of(skills: impl IntoIterator<Item = ListedSkill>) -> Self {
        Self { skills: skills.into_iter().map(Arc::new).collect(), problems: Vec::new() }
    }
}

/// The files of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileListing {
    /// The files, sorted bytewise by path; hidden ones, links and special files are not among them.
    pub files: Vec<FileEntry>,
    /// The files that were left out, with the reasons.
    pub problems: Vec<Diagnostic>,
}

impl FileListing {
    /// Returns a listing of `files`, of which none was left out.
    pub fn of(files: Vec<FileEntry>) -> Self {
        Self { files, problems: Vec::new() }
    }
}
