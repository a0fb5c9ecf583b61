//! The index of a registry, brought up to date with its snapshots.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use repertoire_model::search::{Index, Key, Query, Slot, SlotSet};
use repertoire_model::{State, checksum};

use super::embedder::Embedder;
use super::options::{SUFFIX, SearchOptions};
use super::read::{Known, records};
use super::request::{Found, Match, SearchRequest, Seen};
use crate::registry::{Entry, Registry, Snapshot};
use crate::stored;

/// How many skills are read before they are put on the shelf, so that they do not pile up.
const BATCH: usize = 2048;
/// The largest file that an index is read from.
const MAX_FILE_BYTES: usize = 2 << 30;
/// The most indices that are kept beside each other; those written last are.
const MAX_FILES: usize = 16;
/// How old a file must be to have been left behind by a process that ended while writing it.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// How many skills must have come or gone for the index to be kept at once, not only when the process ends.
const FAR_BEHIND: usize = 256;
/// The version of a skill that could not be read, or whose meaning could not be had: none has it, so the next snapshot, or the next
/// run, tries again.
const PROVISIONAL: u64 = 0;
/// The version of what is indexed of a skill, and of how: whatever was kept under another is made anew.
const EDITION: u64 = 2;

/// The index of a registry.
#[derive(Default)]
pub(crate) struct Shelf {
    options: SearchOptions,
    /// Held by whoever brings the index up to date, so that nobody does it twice.
    updating: Mutex<Updating>,
    held: RwLock<Held>,
}

/// What only whoever brings the index up to date needs.
#[derive(Default)]
struct Updating {
    /// The number of the latest snapshot that the index was brought up to date with.
    latest: u64,
    /// Whether what was kept of the last run was looked for.
    is_loaded: bool,
    /// How many skills came or went since the index was last kept.
    behind: usize,
}

#[derive(Default)]
struct Held {
    index: Index,
    /// Where each skill stands, by its identity.
    slots: HashMap<u64, (Slot, u64), AsIs>,
    view: View,
}

/// Takes identities for their own hashes, which is what they are: every change looks at those of all skills.
type AsIs = BuildHasherDefault<Same>;

#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= checksum(bytes);
    }

    fn write_u64(&mut self, identity: u64) {
        self.0 = identity;
    }
}

/// How the skills of a snapshot lie in the index.
#[derive(Default)]
struct View {
    /// The number of the snapshot; 0 before the first.
    snapshot: u64,
    /// The entry of each slot.
    entries: Vec<Option<usize>>,
    /// The skills that everybody is offered.
    offered: SlotSet,
}

impl Shelf {
    /// Returns an empty shelf.
    pub(crate) fn new(options: SearchOptions) -> Self {
        let held = Held { index: Index::new(options.weights.clone()), ..Held::default() };
        Self { options, updating: Mutex::default(), held: RwLock::new(held) }
    }

    /// Returns what says what texts mean.
    pub(super) fn embedder(&self) -> Option<&dyn Embedder> {
        self.options.embedder.as_deref()
    }

    fn held(&self) -> RwLockReadGuard<'_, Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn held_mut(&self) -> RwLockWriteGuard<'_, Held> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn updating(&self) -> MutexGuard<'_, Updating> {
        self.updating.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the index is that of `snapshot`, or of a later one.
    fn is_of(&self, snapshot: &Snapshot) -> bool {
        self.held().view.snapshot >= snapshot.number()
    }

    /// Brings the index up to date with `snapshot`, one of `registry`: only what changed is read. `progress` is told how many skills
    /// were read, and of how many.
    pub(super) fn update(&self, registry: &Registry, snapshot: &Snapshot, progress: &dyn Fn(usize, usize)) {
        let mut updating = self.updating();
        if self.is_of(snapshot) {
            return;
        }
        if !std::mem::replace(&mut updating.is_loaded, true) {
            self.load();
        }
        let wanted = wanted(snapshot);
        if snapshot.number() < updating.latest {
            // An earlier snapshot takes nothing back.
            let mut held = self.held_mut();
            held.view = held.laid_out(snapshot, &wanted);
            return;
        }
        updating.latest = snapshot.number();
        let missing: Vec<(Key, &Entry)> = {
            let held = self.held();
            let is_missing = |(key, _): &(Key, usize)| {
                held.slots.get(&key.identity).is_none_or(|(_, version)| *version != key.version)
            };
            let missing = wanted.iter().filter(|wanted| is_missing(wanted));
            missing.map(|(key, index)| (*key, &snapshot.entries()[*index])).collect()
        };
        let mut done = 0;
        for batch in missing.chunks(BATCH) {
            progress(done, missing.len());
            let entries: Vec<&Entry> = batch.iter().map(|(_, entry)| *entry).collect();
            let records = records(registry, self.embedder(), &entries);
            let mut held = self.held_mut();
            // All of them before the first is added: skills may be packed on the way, which moves the slots of those that are left.
            for (key, _) in batch {
                if let Some((slot, _)) = held.slots.remove(&key.identity) {
                    held.index.drop(slot);
                }
            }
            for ((key, _), Known { record, vector, is_whole }) in batch.iter().zip(records) {
                let version = if is_whole { key.version } else { PROVISIONAL };
                held.index.add(Key { version, ..*key }, record, vector.as_ref());
            }
            held.renumber();
            // Slots may be others now, so nobody may read them by the layout before.
            held.view = View::default();
            done += batch.len();
        }
        progress(done, missing.len());
        let gone = self.held_mut().settle(snapshot, &wanted);
        updating.behind += gone + missing.len();
    }

    /// Takes what was kept of the last run, if it is of the same kind.
    fn load(&self) {
        let file = self.options.file.as_ref();
        if let Some(index) = file.and_then(|file| self.read(file)) {
            let mut held = self.held_mut();
            held.index = index.with_weights(self.options.weights.clone());
            held.renumber();
        }
    }

    /// Returns the file that the index is kept in, and how many skills are in it; none where it is of no use.
    pub(super) fn kept(&self) -> Option<(&Path, usize)> {
        let file = self.options.file.as_deref()?;
        Some((file, self.read(file)?.len()))
    }

    /// Returns the index in `file`.
    fn read(&self, file: &Path) -> Option<Index> {
        let (length, mut file) = stored::open(file, MAX_FILE_BYTES)?;
        Index::read_from(length, self.stamp(), |piece| file.read_exact(piece).ok())
    }

    /// Keeps the index for the next run, if it has changed.
    pub(crate) fn save(&self) {
        self.save_if_behind(1);
    }

    /// Keeps the index now, if so much of it is new that it would be a pity to lose it with the process.
    pub(super) fn save_if_far_behind(&self) {
        self.save_if_behind(FAR_BEHIND);
    }

    fn save_if_behind(&self, least: usize) {
        let Some(file) = &self.options.file else { return };
        let mut updating = self.updating();
        if updating.behind < least {
            return;
        }
        if !self.held().index.is_packed() {
            let mut held = self.held_mut();
            held.index.pack();
            held.renumber();
            // Slots are others now, so the next search lays them out again.
            held.view = View::default();
        }
        if let (Some(directory), Some(name)) =
            (file.parent(), file.file_name().and_then(|name| name.to_str()))
        {
            let written = stored::replace_with(directory, name, |file| {
                let mut written = Ok(());
                self.held().index.write_to(self.stamp(), |piece| {
                    if written.is_ok() {
                        written = file.write_all(piece);
                    }
                });
                written
            });
            // An index that cannot be kept costs time, nothing else.
            if written.is_ok() {
                updating.behind = 0;
            }
            stored::prune(directory, SUFFIX, MAX_FILES, STALE);
        }
    }

    /// Returns what tells an index that can be used from others.
    fn stamp(&self) -> u64 {
        let id = self.embedder().map(Embedder::id).unwrap_or_default();
        checksum(format!("{EDITION} {} {id}", repertoire_model::FINGERPRINT).as_bytes())
    }

    /// Returns the skills that `query` is about, best first; no answer while the index is that of an earlier snapshot.
    pub(super) fn search(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest,
        query: &Query,
        seen: Seen<'_>,
    ) -> Option<Vec<Found>> {
        let held = self.held();
        let earlier;
        let view = match held.view.snapshot {
            number if number == snapshot.number() => &held.view,
            number if number < snapshot.number() => return None,
            // Whoever holds an earlier snapshot finds what there still is of it.
            _ => {
                earlier = held.laid_out(snapshot, &wanted(snapshot));
                &earlier
            }
        };
        let narrowed;
        let slots = match seen {
            Seen::Offered if request.is_open() => &view.offered,
            _ => {
                let is_seen = |entry: &Entry| match seen {
                    Seen::Offered => true,
                    Seen::Of(is_seen) => is_seen(entry),
                };
                let offered =
                    snapshot.held(is_seen).filter(|entry| entry.is_offered() && request.admits(entry));
                let offered: HashSet<usize> = offered.map(|entry| snapshot.index_of(entry)).collect();
                let slots = (0..).zip(&view.entries);
                narrowed = slots
                    .filter(|(_, entry)| entry.is_some_and(|entry| offered.contains(&entry)))
                    .map(|(slot, _)| slot)
                    .collect();
                &narrowed
            }
        };
        let mut hits = held.index.search(query, slots, request.limit);
        // Slots depend on what was indexed when; names do not.
        let place = |slot: Slot| view.entries.get(slot as usize).copied().flatten();
        let name = |slot: Slot| place(slot).map(|entry| snapshot.entries()[entry].name());
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| name(a.slot).cmp(&name(b.slot))));
        let slots: Vec<Slot> = hits.iter().map(|hit| hit.slot).collect();
        let found = hits.into_iter().zip(held.index.matches(query, &slots)).filter_map(|(hit, why)| {
            let why = why.into_iter().map(|(word, fields)| Match { word: word.to_owned(), fields });
            Some(Found { entry: place(hit.slot)?, score: hit.score, why: why.collect() })
        });
        Some(found.collect())
    }
}

impl Held {
    fn renumber(&mut self) {
        self.slots = self.index.keys().map(|(slot, key)| (key.identity, (slot, key.version))).collect();
    }

    /// Drops what `snapshot` has no longer, and lays out the rest as it lies there. Returns how many were dropped.
    fn settle(&mut self, snapshot: &Snapshot, wanted: &[(Key, usize)]) -> usize {
        let entries: HashSet<u64, AsIs> = wanted.iter().map(|(key, _)| key.identity).collect();
        let gone: Vec<Slot> = self
            .slots
            .iter()
            .filter(|(identity, _)| !entries.contains(identity))
            .map(|(_, (slot, _))| *slot)
            .collect();
        gone.iter().for_each(|slot| self.index.drop(*slot));
        self.index.settle();
        self.renumber();
        self.view = self.laid_out(snapshot, wanted);
        gone.len()
    }

    /// Returns how the skills of `snapshot` lie in the index.
    fn laid_out(&self, snapshot: &Snapshot, wanted: &[(Key, usize)]) -> View {
        let mut view = View { snapshot: snapshot.number(), ..View::default() };
        view.entries = vec![None; self.index.slots()];
        for (key, entry) in wanted {
            let Some((slot, _)) = self.slots.get(&key.identity) else { continue };
            view.entries[*slot as usize] = Some(*entry);
            if snapshot.entries()[*entry].is_in_catalog() {
                view.offered.insert(*slot);
            }
        }
        view
    }
}

/// Returns the skills of `snapshot` that can be found, each with what tells it and its version from others.
fn wanted(snapshot: &Snapshot) -> Vec<(Key, usize)> {
    let entries = snapshot.entries().iter().enumerate();
    let usable = entries.filter(|(_, entry)| entry.state != State::Quarantined);
    usable.map(|(index, entry)| (key(entry), index)).collect()
}

fn key(entry: &Entry) -> Key {
    let document = &entry.document;
    let identity = checksum(format!("{}\0{}", entry.source, entry.locator.as_str()).as_bytes());
    let body = &document.body;
    let mut version = [0; 24];
    let (parts, _) = version.as_chunks_mut::<8>();
    let told = [document.head_checksum, body.checksum, body.length as u64];
    parts.iter_mut().zip(told).for_each(|(part, told)| *part = told.to_le_bytes());
    Key { identity, version: checksum(&version).max(PROVISIONAL + 1) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::provider::fs::{FsOptions, FsProvider};

    #[test]
    fn a_skill_that_could_not_be_read_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, body: &str| {
            let skill = directory.path().join(name);
            fs::create_dir_all(&skill).unwrap();
            let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n");
            fs::write(skill.join("SKILL.md"), text).unwrap();
        };
        write("alpha", "Mind the marmalade.");
        let provider = Arc::new(FsProvider::new(FsOptions::new("test", directory.path())));
        let registry = Registry::builder().provider(provider).open_blocking().unwrap();
        let (file, aside) = (directory.path().join("alpha/SKILL.md"), directory.path().join("aside"));
        fs::rename(&file, &aside).unwrap();
        registry.prepare_search(&registry.snapshot(), &|_, _| ());
        fs::rename(&aside, &file).unwrap();
        write("beta", "");
        let snapshot = registry.reload_blocking();
        let request = SearchRequest::new("marmalade".to_owned(), 1);
        assert_eq!(registry.search_blocking(&snapshot, &request, Seen::Offered).len(), 1);
    }

    #[test]
    fn thousands_of_changes_at_once_lose_no_skill() {
        const COUNT: usize = 5_000;
        let directory = tempfile::tempdir().unwrap();
        let write = |number: usize, text: &str| {
            let skill = directory.path().join(format!("skill-{number}"));
            fs::create_dir_all(&skill).unwrap();
            let text = format!("---\nname: skill-{number}\ndescription: Does {text}{number}x.\n---\n");
            fs::write(skill.join("SKILL.md"), text).unwrap();
        };
        (0..COUNT).for_each(|number| write(number, "old"));
        let provider = Arc::new(FsProvider::new(FsOptions::new("test", directory.path())));
        let registry = Registry::builder().provider(provider).open_blocking().unwrap();
        registry.prepare_search(&registry.snapshot(), &|_, _| ());
        (0..COUNT).for_each(|number| write(number, "young"));
        let snapshot = registry.reload_blocking();
        registry.prepare_search(&snapshot, &|_, _| ());
        assert_eq!(registry.shelf().held().index.len(), COUNT);
        for number in (0..COUNT).step_by(499) {
            let request = SearchRequest::new(format!("young{number}x"), 1);
            let found = registry.search_blocking(&snapshot, &request, Seen::Offered);
            let names = found.iter().map(|found| snapshot.entries()[found.entry].name().to_string());
            assert_eq!(names.collect::<Vec<_>>(), [format!("skill-{number}")]);
        }
    }
}
