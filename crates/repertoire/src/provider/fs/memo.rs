//! What a [`super::FsProvider`] remembers from one run to the next.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use repertoire_model::validate::Reporter;
use repertoire_model::{Digest, RuleId, Severity};

use super::cache::{Builder, Cache, CacheFile, Facts, is_settled, key, now};
use super::open::{Source, State};
use super::place::Root;
use super::safe_dir::Stamp;
use super::walk::WalkedFile;
use crate::Error;
use crate::provider::{Listed, Locator, Problem, TokenCounts};

/// How long a process waits at least from one writing of the cache to the next, unless it is asked to.
const PAUSE: Duration = Duration::from_secs(5);

/// How the cache stands to what is known.
#[derive(Debug, Default)]
pub(super) struct CacheState {
    pub(super) file: Option<Arc<CacheFile>>,
    /// Whether more is known than it holds.
    pub(super) is_behind: bool,
    /// When it was last written.
    written: Option<Instant>,
    /// What was wrong when it was last written.
    pub(super) problem: Option<Problem>,
}

impl CacheState {
    /// Returns whether it should be written now, without being asked to.
    pub(super) fn is_due(&self) -> bool {
        self.is_behind && self.written.is_none_or(|written| written.elapsed() >= PAUSE)
    }
}

impl Source {
    /// Returns the file that scans of `root` are kept in.
    pub(super) fn cache_file(&self, root: &Root) -> Option<CacheFile> {
        let directory = self.options().cache.as_deref()?;
        Some(CacheFile::new(directory, key(self.options(), &root.resolved)))
    }

    /// Brings the cache up to what is known; `cache` is what it holds, where that was just read.
    pub(super) fn write_cache(&self, cache: Option<&Cache>) {
        let mut state = self.state();
        let State { known: Some(known), facts, dirty, cache: CacheState { file: Some(file), .. }, .. } =
            &mut *state
        else {
            return;
        };
        let (known, file) = (Arc::clone(known), Arc::clone(file));
        let (facts, dirty) = (facts.clone(), std::mem::take(dirty));
        state.cache.is_behind = false;
        state.cache.written = Some(Instant::now());
        drop(state);

        // Another process may have written it since it was read.
        let loaded = if cache.is_none() { file.load() } else { None };
        let cache = cache.or(loaded.as_ref());
        let mine = |locator: &Locator| facts.get(locator).cloned().unwrap_or_default();
        let mut builder = Builder::new(file.key(), None);
        let remembered =
            cache.and_then(Cache::root_entries).filter(|entries| entries.stamp == known.entries_stamp);
        match (known.entries_stamp, &known.entries, &remembered) {
            (Some(_), Some(entries), _) => builder = Builder::new(file.key(), Some(entries)),
            (Some(_), None, Some(entries)) => builder = Builder::new(file.key(), Some(entries)),
            _ => {}
        }
        for found in known.skills.iter().filter(|found| found.may_be_remembered()) {
            let Listed { locator, manifest_file, document, .. } = &*found.listed;
            let Some(stamp) = found.stamp else { continue };
            let held = cache.and_then(|cache| cache.find(locator.as_str()));
            match held.filter(|held| *held.stamp() == stamp) {
                Some(held) if dirty.contains(locator) => {
                    builder.keep(locator.as_str(), &held, &mine(locator))
                }
                // What another process remembers is kept.
                Some(held) => builder.keep(locator.as_str(), &held, &held.facts()),
                None => builder.add(locator.as_str(), manifest_file, &stamp, &mine(locator), document),
            }
        }
        let problem = file.save(&builder.finish()).err().and_then(|error| self.unwritten(&error));
        let mut state = self.state();
        if problem.is_some() {
            // What cannot be kept now may be kept later; else it is worked out again at the next start.
            state.dirty.extend(dirty);
        }
        state.cache.problem = problem;
    }

    fn unwritten(&self, error: &io::Error) -> Option<Problem> {
        let mut reporter = Reporter::new(&self.options().policy);
        reporter.report(RuleId::SourceBroken, format!("the cache cannot be written: {error}"));
        let path = self.options().cache.as_ref()?.to_string_lossy().into_owned();
        let mut diagnostic = reporter.finish().pop()?;
        diagnostic.severity = Severity::Info;
        Some(Problem { path, diagnostic })
    }

    /// Returns the digest of the bundle of the skill at `locator`; if no file changed since it was last worked out,
    /// none is read.
    pub(super) fn digest(&self, locator: &Locator) -> Result<Digest, Error> {
        let started = now();
        let before = self.at(locator, |place| Ok(fingerprint(&self.walk(place)?.0.files, started)))?;
        let remembered = self.fact(locator, |facts| facts.bundle.as_deref().copied());
        if let (Some(fingerprint), Some((known, digest))) = (before, remembered)
            && fingerprint == known
        {
            return Ok(digest);
        }
        let digest = self.bundle(locator)?.digest();
        let after = self.at(locator, |place| Ok(fingerprint(&self.walk(place)?.0.files, started)))?;
        if let Some(fingerprint) = after
            && before == after
        {
            self.set_fact(locator, |facts| facts.bundle = Some(Box::new((fingerprint, digest))));
        }
        Ok(digest)
    }

    pub(super) fn token_counts(&self, locator: &Locator, tokenizer: &str) -> Option<TokenCounts> {
        self.fact(locator, |facts| facts.tokens(tokenizer))
    }

    pub(super) fn set_token_counts(&self, locator: &Locator, tokenizer: &str, counts: TokenCounts) {
        self.set_fact(locator, |facts| facts.set_tokens(tokenizer, counts));
    }

    fn fact<T>(&self, locator: &Locator, get: impl FnOnce(&Facts) -> Option<T>) -> Option<T> {
        self.state().facts.get(locator).and_then(get)
    }

    fn set_fact(&self, locator: &Locator, set: impl FnOnce(&mut Facts)) {
        let mut state = self.state();
        let State { known: Some(known), facts, dirty, .. } = &mut *state else { return };
        if known.find(locator.as_str()).is_none() {
            return;
        }
        let facts = facts.entry(locator.clone()).or_default();
        let before = facts.clone();
        set(facts);
        if *facts != before {
            dirty.insert(locator.clone());
        }
    }

    /// Writes what was found and remembered since the cache was last written.
    pub(super) fn save(&self) {
        let state = self.state();
        let is_behind = state.cache.is_behind || !state.dirty.is_empty();
        drop(state);
        if is_behind {
            self.write_cache(None);
        }
    }
}

/// Returns what changes whenever a file of a skill does, or `None` where a change might not show.
fn fingerprint(files: &[WalkedFile], now: i64) -> Option<Digest> {
    if !files
        .iter()
        .all(|file| file.stamp != Stamp::default() && file.stamp.inode != 0 && is_settled(&file.stamp, now))
    {
        return None;
    }
    let mut text = Vec::with_capacity(files.len() * 96);
    for WalkedFile { path, stamp } in files {
        let Stamp { size, modified, changed, inode, device, mode } = stamp;
        let line = format!("{path}\0{size} {modified} {changed} {inode} {device} {mode}\n");
        text.extend_from_slice(line.as_bytes());
    }
    Some(Digest::of(&text))
}
