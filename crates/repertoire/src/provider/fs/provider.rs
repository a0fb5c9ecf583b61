//! The provider of skills in a directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use repertoire_model::{Bundle, Digest, LineRange, Policy, SkillPath};

use super::limits::{LinkScope, ScanLimits};
use super::open::Source;
use super::{manifest, place, safe_dir, scan};
use crate::Error;
use crate::provider::limits::FileCaps;
use crate::provider::{
    BoxFuture, Changes, FileContent, FileListing, Listing, Locator, Memo, OpenedSkill, Provider, Skill,
    TokenCounts, WatchPoint,
};
use crate::unblock;

/// What a [`FsProvider`] is told.
#[derive(Debug, Clone)]
pub struct FsOptions {
    /// The name of the source.
    pub label: String,
    /// The directory that holds the skills. It need not exist (yet).
    pub root: PathBuf,
    /// How far skills are looked for.
    pub limits: ScanLimits,
    /// Where links to skills may lead.
    pub links: LinkScope,
    /// How large files may be.
    pub caps: FileCaps,
    /// What skills are held against.
    pub policy: Policy,
    /// A directory to keep in what scans found, so that the next one need not read every file; `None` keeps nothing.
    pub cache: Option<PathBuf>,
}

impl FsOptions {
    /// Returns the usual options for the directory `root`.
    pub fn new(label: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self {
            label: label.into(),
            root: root.into(),
            limits: ScanLimits::default(),
            links: LinkScope::default(),
            caps: FileCaps::default(),
            policy: Policy::default(),
            cache: None,
        }
    }
}

/// The skills in a directory.
///
/// A locator is the path of a skill relative to the root. Only locators of the last listing lead anywhere; they are
/// looked up, not resolved.
///
/// ```
/// use repertoire::provider::fs::{FsOptions, FsProvider};
/// let provider = FsProvider::new(FsOptions::new("project:.agents/skills", ".agents/skills"));
/// ```
#[derive(Debug, Clone)]
pub struct FsProvider {
    source: Arc<Source>,
}

impl FsProvider {
    /// Returns a provider of the skills that `options` tell of; nothing is read yet.
    pub fn new(options: FsOptions) -> Self {
        Self { source: Arc::new(Source::new(options)) }
    }

    /// Returns what the provider was told.
    pub fn options(&self) -> &FsOptions {
        self.source.options()
    }

    /// Runs `work` where it may block.
    fn unblock<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Source) -> T + Send + 'static,
    ) -> BoxFuture<'_, T> {
        let source = Arc::clone(&self.source);
        Box::pin(unblock::with_files(move || work(&source)))
    }
}

impl Provider for FsProvider {
    fn label(&self) -> &str {
        &self.options().label
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, Error>> {
        let turn = self.source.turns.begin();
        self.unblock(move |source| Ok(source.list(&turn)))
    }

    fn relist<'a>(&'a self, changes: &'a Changes) -> BoxFuture<'a, Result<Listing, Error>> {
        let (turn, changes) = (self.source.turns.begin(), changes.clone());
        self.unblock(move |source| Ok(source.relist(&turn, &changes)))
    }

    fn watch_points(&self) -> Option<Vec<WatchPoint>> {
        Some(self.source.watch_points())
    }

    fn watch_epoch(&self) -> Option<u64> {
        Some(self.source.state().watch_epoch)
    }

    fn get<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<Skill>, Error>> {
        let locator = locator.clone();
        self.unblock(move |source| source.get(&locator))
    }

    fn open<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Option<OpenedSkill>, Error>> {
        let locator = locator.clone();
        self.unblock(move |source| source.open(&locator))
    }

    fn files<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<FileListing, Error>> {
        let locator = locator.clone();
        self.unblock(move |source| source.files(&locator))
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> BoxFuture<'a, Result<FileContent, Error>> {
        let (locator, path) = (locator.clone(), path.clone());
        self.unblock(move |source| {
            let bytes = source.read(&locator, &path)?;
            Ok(FileContent::of(&bytes, lines))
        })
    }

    fn bundle<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Bundle, Error>> {
        let locator = locator.clone();
        self.unblock(move |source| source.bundle(&locator))
    }

    fn digest<'a>(&'a self, locator: &'a Locator) -> BoxFuture<'a, Result<Digest, Error>> {
        let locator = locator.clone();
        self.unblock(move |source| source.digest(&locator))
    }

    fn memo(&self) -> Option<&dyn Memo> {
        self.options().cache.is_some().then_some(self)
    }
}

impl Memo for FsProvider {
    fn token_counts(&self, locator: &Locator, tokenizer: &str) -> Option<TokenCounts> {
        self.source.token_counts(locator, tokenizer)
    }

    fn set_token_counts(&self, locator: &Locator, tokenizer: &str, counts: TokenCounts) {
        self.source.set_token_counts(locator, tokenizer, counts);
    }

    fn save(&self) -> BoxFuture<'_, ()> {
        self.unblock(Source::save)
    }
}

/// Returns whether the directory at `path` is a skill or holds one.
///
/// It stops at the first, so it costs little where there are many.
pub(crate) fn holds_skills(path: &Path) -> std::io::Result<bool> {
    let limits = ScanLimits::default();
    let root = place::Root::open(path).map_err(safe_dir::Fault::into_io)?;
    let entries = root.handle.entries(limits.max_entries).map_err(safe_dir::Fault::into_io)?;
    let is_skill = |name: &str| root.handle.stat(name).is_ok();
    Ok(entries.entries.iter().any(|entry| {
        manifest::is_spelling(&entry.name)
            || scan::may_be_skill(entry)
                && manifest::SPELLINGS.iter().any(|s| is_skill(&format!("{}/{s}", entry.name)))
    }))
}

/// Returns the path of `relative` below `root` as people see it.
pub(super) fn display(root: &Path, relative: &str) -> String {
    place::Shown::new(root).join(relative)
}
