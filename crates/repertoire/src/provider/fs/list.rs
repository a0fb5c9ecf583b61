//! Lists the skills of a root: all of them, or again where something changed.

use std::ops::Deref;
use std::sync::Arc;

use repertoire_model::RuleId;
use repertoire_model::validate::Reporter;

use super::amend::amend;
use super::cache::{Cache, CacheFile, now};
use super::known::{Known, Memory, RootChange, Told};
use super::open::{Source, State};
use super::place::{ROOT_LOCATOR, Root};
use super::provider::display;
use super::root_entries::{self, RootEntries};
use super::safe_dir::{Fault, Stamp};
use super::scan::{Scan, Task, scan};
use super::turn::Turn;
use crate::provider::{Changes, Listing, Located as _, Problem, differences};

/// What lies directly below a root.
enum Entries<'a> {
    /// As the cache remembers it.
    Cached(RootEntries<'a>),
    /// As it was listed for a listing before, with what changed since put in its place.
    Known(Arc<RootEntries<'static>>),
    /// As it was listed just now.
    Listed(Arc<RootEntries<'static>>),
}

impl<'a> Deref for Entries<'a> {
    type Target = RootEntries<'a>;

    fn deref(&self) -> &RootEntries<'a> {
        match self {
            Self::Cached(entries) => entries,
            Self::Known(entries) | Self::Listed(entries) => entries,
        }
    }
}

impl Source {
    /// Returns every skill below the root.
    pub(super) fn list(&self, turn: &Turn) -> Listing {
        self.look(turn, Told::Nothing)
    }

    /// Returns every skill below the root, where only `changes` happened since the last listing.
    pub(super) fn relist(&self, turn: &Turn, changes: &Changes) -> Listing {
        // What another listing is about to find is not among what is known, and this one would be the later of the two.
        self.look(turn, if turn.is_alone { Told::Exactly(changes) } else { Told::AtLeast(changes) })
    }

    fn look(&self, turn: &Turn, told: Told<'_>) -> Listing {
        let root = match Root::open(&self.options().root) {
            Ok(root) => root,
            // Skills of the last listing stay known: snapshots that hold them outlive a fault that passes.
            Err(fault) => {
                let mut state = self.state();
                state.watch_epoch += u64::from(!state.is_stale);
                state.is_stale = true;
                drop(state);
                return self.broken(&fault);
            }
        };
        let started = now();
        let stamp = root_entries::stamp(&root);
        let before = {
            let state = self.state();
            state.known.clone().filter(|known| !state.is_stale && known.resolved == root.resolved)
        };
        let told = match (told, &before) {
            (Told::Exactly(changes), Some(known)) if !known.is_rooted_at(stamp) => Told::AtLeast(changes),
            _ => told,
        };
        let file = self.cache_file(&root);
        // It is read once: from then on more is known than it holds.
        let cache = file.as_ref().filter(|_| before.is_none()).and_then(CacheFile::load);
        let (entries, change) = self.root_entries(&root, stamp, told, before.as_deref(), cache.as_ref());
        let task = Task {
            options: self.options(),
            root: &root,
            entries: entries.as_deref(),
            cache: cache.as_ref(),
            memory: None,
            started,
        };
        let amended = match (told, before.as_deref()) {
            (Told::Exactly(changes), Some(known)) => amend(&task, known, changes, change),
            _ => None,
        };
        let Scan { found, mut problems, rests, facts, fresh } = amended.unwrap_or_else(|| {
            let memory = before.as_deref().zip(task.entries.ok());
            let memory = memory.map(|(known, entries)| Memory::new(known, told, entries, change));
            scan(&Task { memory, ..task })
        });
        let entries_stamp = match &entries {
            Ok(Entries::Cached(entries)) => entries.stamp,
            Ok(Entries::Known(entries)) => {
                before.as_ref().and_then(|before| before.entries_stamp).filter(|_| entries.stamp.is_some())
            }
            Ok(Entries::Listed(entries)) if entries.may_be_remembered(started) => entries.stamp,
            _ => None,
        };
        let entries = match entries {
            Ok(Entries::Known(entries) | Entries::Listed(entries)) => Some(entries),
            _ => None,
        };
        let skills = found.iter().map(|found| Arc::clone(&found.listed)).collect();
        let to_remember = found.iter().filter(|found| found.may_be_remembered()).count();
        let resolved = root.resolved;
        let known = Known {
            listing: turn.number,
            resolved,
            stamp,
            entries,
            entries_stamp,
            skills: found,
            to_remember,
            rests,
        };
        let is_behind = file.is_some()
            && match (&before, &cache) {
                (Some(before), _) => {
                    fresh > 0
                        || known.to_remember != before.to_remember
                        || known.entries_stamp.is_some() && known.entries_stamp != before.entries_stamp
                }
                (None, Some(cache)) => {
                    fresh > 0
                        || known.to_remember != cache.len()
                        || known.entries_stamp.is_some() && known.entries_stamp != cache.root_stamp()
                }
                (None, None) => known.to_remember > 0,
            };
        if self.publish(known) {
            let mut state = self.state();
            state.facts.extend(facts);
            state.cache.file = file.map(Arc::new);
            state.cache.is_behind |= is_behind;
            // Who says what changed wants to know soon what came of it; the rest can wait.
            let is_due = told.changes().is_none() && state.cache.is_due();
            drop(state);
            if is_due {
                self.write_cache(cache.as_ref());
            }
        }
        problems.extend(self.state().cache.problem.clone());
        Listing { skills, problems }
    }

    /// Makes `known` what the last listing found, unless that began later; returns whether it did.
    fn publish(&self, known: Known) -> bool {
        let mut state = self.state();
        let before = state.known.clone();
        if before.as_ref().is_some_and(|before| before.listing > known.listing) {
            return false;
        }
        let is_elsewhere = before.as_ref().is_none_or(|before| {
            state.is_stale || before.resolved != known.resolved || before.rests != known.rests
        });
        let has_moved = before.is_some_and(|before| self.forget(&mut state, &before, &known));
        state.watch_epoch += u64::from(is_elsewhere || has_moved);
        state.known = Some(Arc::new(known));
        state.is_stale = false;
        true
    }

    /// Forgets what was known of skills that `known` shows to have changed since `before`. Returns whether some came, went or
    /// lie somewhere else.
    fn forget(&self, state: &mut State, before: &Known, known: &Known) -> bool {
        let mut texts = self.texts();
        let mut has_moved = false;
        for (old, new) in differences(&before.skills, &known.skills) {
            let Some(locator) = old.or(new).map(|found| found.locator()) else { continue };
            if !old.zip(new).is_some_and(|(old, new)| old.has_same_bytes(new)) {
                state.facts.remove(locator);
                state.dirty.remove(locator);
            }
            has_moved |= old.map(|old| &old.home) != new.map(|new| &new.home);
            match new {
                None => texts.forget(locator),
                Some(new) if new.good.is_none() => texts.forget_unless(locator, new.stamp),
                Some(_) => {}
            }
        }
        has_moved
    }

    /// Returns what lies directly below `root`, and which of it was there before: what is known or what the cache remembers, if the
    /// root did not change since or it was `told` where.
    fn root_entries<'a>(
        &self,
        root: &Root,
        stamp: Option<Stamp>,
        told: Told<'_>,
        before: Option<&Known>,
        cache: Option<&'a Cache>,
    ) -> (Result<Entries<'a>, Fault>, RootChange) {
        let limit = self.options().limits.max_entries;
        if let (Told::Exactly(changes), Some(known)) = (told, before)
            && let Some((entries, change)) = amended(root, known, changes, limit)
        {
            return (Ok(Entries::Known(entries)), change);
        }
        if let Some(known) = before
            && let Some(entries) = &known.entries
        {
            let is_told = told.changes().is_some_and(|changes| changes.root || !changes.entries.is_empty());
            if stamp.is_some() && known.entries_stamp == stamp && !is_told {
                return (Ok(Entries::Known(Arc::clone(entries))), RootChange::Some);
            }
        }
        // What is known without its entries is known from the cache.
        let is_as_known = matches!((told, before), (Told::Exactly(Changes { root: false, entries, .. }), Some(known))
            if entries.is_empty() && known.entries.is_none());
        let remembered = cache.and_then(Cache::root_entries);
        let entries = match remembered.filter(|entries| entries.are_those_at(stamp, limit)) {
            Some(entries) => Ok(Entries::Cached(entries)),
            None => RootEntries::list(root, limit).map(|entries| Entries::Listed(Arc::new(entries))),
        };
        (entries, if is_as_known { RootChange::None } else { RootChange::Some })
    }

    /// Returns the listing of a root that cannot be opened; one that is not there (yet) is merely empty.
    fn broken(&self, fault: &Fault) -> Listing {
        if let Fault::Missing = fault {
            return Listing::default();
        }
        let mut reporter = Reporter::new(&self.options().policy);
        reporter.report(RuleId::SourceBroken, format!("the directory cannot be read: {}", fault.message()));
        let path = display(&self.options().root, ROOT_LOCATOR);
        let problem = reporter.finish().pop().map(|diagnostic| Problem { path, diagnostic });
        Listing { skills: Vec::new(), problems: problem.into_iter().collect() }
    }
}

/// Returns what lay below `root` as far as it is `known`, with `changes` put in their place, and which of it that leaves as it was;
/// `None` where only a listing of at most `limit` entries can tell.
fn amended(
    root: &Root,
    known: &Known,
    changes: &Changes,
    limit: usize,
) -> Option<(Arc<RootEntries<'static>>, RootChange)> {
    let entries = known.entries.as_ref().filter(|_| !changes.root)?;
    let tops = changes.skills.iter().map(|locator| locator.as_str().split('/').next().unwrap_or_default());
    let names = changes.entries.iter().map(String::as_str).collect();
    let amended = entries.amended(root, &names, &tops.collect(), limit)?;
    let is_as_known = changes.entries.is_empty() && Arc::ptr_eq(&amended, entries);
    Some((amended, if is_as_known { RootChange::None } else { RootChange::Told }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::fs::FsOptions;

    #[test]
    fn a_listing_never_replaces_one_that_began_later() {
        let source = Source::new(FsOptions::new("test", "."));
        let listing = || source.known().map(|known| known.listing);
        let publish = |listing| source.publish(Known { listing, ..Known::default() });
        assert!(publish(2));
        assert!(!publish(1));
        assert_eq!(listing(), Some(2));
        assert!(publish(3));
        assert_eq!(listing(), Some(3));
    }
}
