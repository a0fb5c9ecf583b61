//! What a [`super::FsProvider`] remembers from one run to the next.

use repertoire_model::validate::Reporter;
use repertoire_model::{Digest, RuleId};

use super::cache::{Builder, Cache, CacheFile, Facts, is_settled, key, now};
use super::open::Source;
use super::place::Root;
use super::root_entries::RootEntries;
use super::safe_dir::{Fault, Stamp};
use super::scan::Found;
use super::walk::WalkedFile;
use crate::Error;
use crate::provider::{Listed, Locator, Problem, TokenCounts};

impl Source {
    /// Returns the file that scans of `root` are kept in.
    pub(super) fn cache_file(&self, root: &Root) -> Option<CacheFile> {
        let directory = self.options().cache.as_deref()?;
        Some(CacheFile::new(directory, key(self.options(), &root.resolved)))
    }

    /// Writes the cache anew if the scan that `started` then found anything it does not hold.
    pub(super) fn remember(
        &self,
        file: &CacheFile,
        cache: Option<&Cache>,
        entries: &Result<RootEntries<'_>, Fault>,
        found: &[Box<Found>],
        started: i64,
    ) -> Option<Problem> {
        let entries = entries.as_ref().ok().filter(|entries| entries.may_be_remembered(started));
        let is_listed_anew =
            entries.is_some_and(|entries| cache.and_then(Cache::root_stamp) != entries.stamp);
        let is_kept = |found: &Found| {
            found.remembered.is_some() || found.stamp.is_some_and(|stamp| is_settled(&stamp, started))
        };
        let fresh = found.iter().any(|found| found.remembered.is_none() && is_kept(found));
        let kept = found.iter().filter(|found| is_kept(found));
        if !fresh && !is_listed_anew && cache.is_some_and(|cache| cache.len() == kept.clone().count()) {
            return None;
        }
        if cache.is_none() && kept.clone().next().is_none() {
            return None;
        }
        let mut builder = Builder::new(file.key(), entries);
        for found in kept {
            let Listed { locator, manifest_file, document, .. } = &found.listed;
            let remembered = cache.and_then(|cache| cache.find(locator.as_str()));
            match (remembered, &found.remembered, &found.stamp) {
                (Some(remembered), Some(facts), _) => builder.keep(locator.as_str(), &remembered, facts),
                (_, _, Some(stamp)) => {
                    builder.add(locator.as_str(), manifest_file, stamp, &Facts::default(), document);
                }
                (_, _, None) => {}
            }
        }
        let error = file.save(&builder.finish()).err()?;
        let mut reporter = Reporter::new(&self.options().policy);
        reporter.report(RuleId::SourceBroken, format!("the cache cannot be written: {error}"));
        let path = self.options().cache.as_ref()?.to_string_lossy().into_owned();
        let mut diagnostic = reporter.finish().pop()?;
        diagnostic.severity = repertoire_model::Severity::Info;
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
        self.known().as_ref()?.facts.get(locator).and_then(get)
    }

    fn set_fact(&self, locator: &Locator, set: impl FnOnce(&mut Facts)) {
        if let Some(known) = self.known().as_mut()
            && known.find(locator).is_some()
        {
            let facts = known.facts.entry(locator.clone()).or_default();
            let before = facts.clone();
            set(facts);
            if *facts != before {
                known.dirty.insert(locator.clone());
            }
        }
    }

    /// Writes what was remembered since the last listing into the cache.
    pub(super) fn save(&self) {
        let mut guard = self.known();
        let Some(known) = guard.as_mut() else { return };
        // Another process may have written the cache since: what it holds is kept, and only facts are replaced.
        let Some(cache) = known.cache.as_ref().and_then(CacheFile::load) else { return };
        let Some(file) = known.cache.as_ref().filter(|_| !known.dirty.is_empty()) else { return };
        let mut builder = Builder::new(file.key(), cache.root_entries().as_ref());
        for (path, remembered) in cache.all() {
            let locator = Locator::new(path);
            let stamp = known.find(&locator).and_then(|skill| skill.stamp);
            let is_same = stamp.as_ref() == Some(remembered.stamp());
            match known.facts.get(&locator) {
                Some(facts) if is_same && known.dirty.contains(&locator) => {
                    builder.keep(path, &remembered, facts);
                }
                _ => builder.keep(path, &remembered, &remembered.facts()),
            }
        }
        // What cannot be kept is worked out again at the next start.
        let _ = file.save(&builder.finish());
        known.dirty.clear();
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
