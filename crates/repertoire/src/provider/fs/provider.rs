//! The provider of skills in a directory.

use std::path::Path;
use std::sync::Arc;

use repertoire_model::{Bundle, Digest, LineRange, Policy, SkillPath};

use super::limits::ScanLimits;
use super::options::FsOptions;
use super::source::FsSource;
use super::{manifest, place, safe_dir, scan};
use crate::provider::{
    BoxFuture, FileContent, FileListing, Listing, Locator, OpenedSkill, Provider, ResultFuture, Skill,
    WatchPoint,
};

/// The skills in a directory.
///
/// A locator is the path of a skill relative to the root. Only locators of the last listing lead anywhere;
/// they are looked up, not resolved.
///
/// ```
/// use repertoire::provider::fs::{FsOptions, FsProvider};
/// let provider = FsProvider::new(FsOptions::new("project:.agents/skills", ".agents/skills"));
/// ```
#[derive(Debug, Clone)]
pub struct FsProvider {
    source: Arc<FsSource>,
}

impl FsProvider {
    /// Returns a provider of the skills in a directory; nothing is read yet.
    pub fn new(options: FsOptions) -> Self {
        Self { source: Arc::new(FsSource::new(options)) }
    }

    /// Returns its options.
    pub fn options(&self) -> &FsOptions {
        self.source.options()
    }

    /// Runs `work` on a thread that may block: the thread itself, if it is one of rayon's, where hops would
    /// cost more than the work.
    fn unblock<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FsSource) -> T + Send + 'static,
    ) -> BoxFuture<'_, T> {
        if rayon::current_thread_index().is_some() {
            return Box::pin(std::future::ready(work(&self.source)));
        }
        let source = Arc::clone(&self.source);
        Box::pin(blocking::unblock(move || work(&source)))
    }
}

impl Provider for FsProvider {
    fn label(&self) -> &str {
        &self.options().label
    }

    fn list<'a>(&'a self, policy: &'a Policy) -> ResultFuture<'a, Listing> {
        let policy = policy.clone();
        self.unblock(move |source| Ok(source.list(&policy)))
    }

    fn watch_points(&self) -> Option<Vec<WatchPoint>> {
        Some(self.source.watch_points())
    }

    fn get<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, Option<Skill>> {
        let (locator, policy) = (locator.clone(), policy.clone());
        self.unblock(move |source| source.get(&locator, &policy))
    }

    fn open<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, Option<OpenedSkill>> {
        let (locator, policy) = (locator.clone(), policy.clone());
        self.unblock(move |source| source.open(&locator, &policy))
    }

    fn files<'a>(&'a self, locator: &'a Locator, policy: &'a Policy) -> ResultFuture<'a, FileListing> {
        let (locator, policy) = (locator.clone(), policy.clone());
        self.unblock(move |source| source.files(&locator, &policy))
    }

    fn read<'a>(
        &'a self,
        locator: &'a Locator,
        path: &'a SkillPath,
        lines: LineRange,
    ) -> ResultFuture<'a, FileContent> {
        let (locator, path) = (locator.clone(), path.clone());
        self.unblock(move |source| {
            let bytes = source.read(&locator, &path)?;
            Ok(FileContent::of(&bytes, lines))
        })
    }

    fn bundle<'a>(&'a self, locator: &'a Locator) -> ResultFuture<'a, Bundle> {
        let locator = locator.clone();
        self.unblock(move |source| source.bundle(&locator))
    }

    fn digest<'a>(&'a self, locator: &'a Locator) -> ResultFuture<'a, Digest> {
        let locator = locator.clone();
        self.unblock(move |source| source.digest(&locator))
    }
}

/// Returns whether the directory at `path` is a skill or holds one.
///
/// It stops at the first, so it costs little where there are many.
pub(crate) fn holds_skills(path: &Path) -> std::io::Result<bool> {
    let limits = ScanLimits::default();
    let root = place::ScanRoot::open(path).map_err(safe_dir::FsFault::into_io)?;
    let entries = root.handle.entries(limits.max_entries).map_err(safe_dir::FsFault::into_io)?;
    let is_skill = |name: &str| root.handle.stat(name).is_ok();
    let mut level = Vec::new();
    for entry in &entries.entries {
        if manifest::is_spelling(&entry.name) {
            return Ok(true);
        }
        if scan::may_be_skill(entry, &limits) {
            level.push(entry.name.clone());
        }
    }
    // Skills may lie in groups, which are searched as deep as a scan does.
    let mut room = limits.max_directories;
    for _ in 0..limits.max_depth {
        let has_manifest = |path: &String| {
            manifest::SPELLINGS.iter().any(|spelling| is_skill(&format!("{path}/{spelling}")))
        };
        if level.iter().any(has_manifest) {
            return Ok(true);
        }
        let mut next = Vec::new();
        for path in level.iter().take(room) {
            let Ok(directory) = root.handle.open_dir(path) else { continue };
            let Ok(below) = directory.entries(limits.max_entries) else { continue };
            let children = below.entries.iter().filter(|entry| scan::may_be_skill(entry, &limits));
            next.extend(children.map(|entry| format!("{path}/{}", entry.name)));
        }
        room = room.saturating_sub(level.len());
        level = next;
    }
    Ok(false)
}
