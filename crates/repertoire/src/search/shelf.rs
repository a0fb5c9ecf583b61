//! The index of a registry, brought up to date with its snapshots.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use repertoire_model::checksum;
use repertoire_model::search::{Index, Key, Query, Slot};

use super::embedder::Embedder;
use super::layout::{Draft, Layout, PROVISIONAL, follow};
use super::options::{SUFFIX, SearchOptions};
use super::read::{Known, records};
use super::request::{Found, Match, SearchRequest, Seen};
use crate::registry::{Entry, Registry, Snapshot};
use crate::stored;

/// How many skills are read before they are put on the shelf, so that they do not pile up.
const BATCH: usize = 1024;
/// How many skills that come at once are packed at once.
const MANY: usize = 16;
/// The largest file that an index is read from.
const MAX_FILE_BYTES: usize = 2 << 30;
/// The most indices that are kept beside each other; those written last are.
const MAX_FILES: usize = 16;
/// How old a file must be to have been left behind by a process that ended while writing it.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// How many skills must have come or gone for the index to be kept at once, not only when the process ends.
const FAR_BEHIND: usize = 256;
/// Which share of all skills that must be, too: all of them are written.
const FAR_BEHIND_SHARE: usize = 16;
/// The version of what is indexed of a skill, and of how: whatever was kept under another is made anew.
const EDITION: u64 = 3;

/// The index of a registry.
///
/// Whoever searches holds an index that never changes, so nobody waits for one that is brought up to date, packed or kept.
#[derive(Default)]
pub(crate) struct Shelf {
    options: SearchOptions,
    /// Held by whoever puts another index in the place of the one there is.
    updating: Mutex<Updating>,
    /// Held by whoever packs the index aside, so that nobody does it twice.
    packing: Mutex<()>,
    /// Held by whoever writes the file.
    keeping: Mutex<()>,
    held: RwLock<Arc<Held>>,
}

/// What only whoever brings the index up to date needs.
#[derive(Default)]
struct Updating {
    /// Whether what was kept of the last run was looked for.
    is_loaded: bool,
    /// How many skills came or went since the index was last kept.
    behind: usize,
    /// For which dimensions of meanings the index was last made anew.
    made_for: Option<usize>,
}

#[derive(Default)]
struct Held {
    index: Index,
    layout: Layout,
    /// Whether skills of the index are provisional.
    retries: bool,
}

impl Shelf {
    /// Returns an empty shelf.
    pub(crate) fn new(options: SearchOptions) -> Self {
        let held = Held { index: Index::new(options.weights.clone()), ..Held::default() };
        Self { options, held: RwLock::new(Arc::new(held)), ..Self::default() }
    }

    /// Returns what says what texts mean.
    pub(super) fn embedder(&self) -> Option<&dyn Embedder> {
        self.options.embedder.as_deref()
    }

    fn held(&self) -> Arc<Held> {
        Arc::clone(&self.held.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has everybody search `held` from now on.
    fn hold(&self, held: Held) {
        let mut place = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *place, Arc::new(held));
        std::mem::drop(place);
        // It may take a while to go.
        std::mem::drop(before);
    }

    fn updating(&self) -> MutexGuard<'_, Updating> {
        self.updating.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the index up to date with `snapshot`, one of `registry`: only what changed is read. `progress` is told how many skills
    /// were read, and of how many.
    pub(super) fn update(
        &self,
        registry: &Registry,
        snapshot: &Arc<Snapshot>,
        progress: &dyn Fn(usize, usize),
    ) {
        let mut updating = self.updating();
        if !std::mem::replace(&mut updating.is_loaded, true)
            && let Some(held) = self.load()
        {
            self.hold(held);
        }
        let held = self.held();
        if held.layout.number() >= snapshot.number() {
            return;
        }
        let Draft { mut places, missing, gone } = held.layout.draft(&held.index, snapshot, held.retries);
        let mut index = held.index.clone();
        gone.iter().for_each(|slot| index.drop(*slot));
        let (mut done, mut retries) = (0, false);
        for batch in missing.chunks(BATCH) {
            progress(done, missing.len());
            let entries: Vec<&Entry> = batch.iter().map(|(_, entry)| &snapshot.entries()[*entry]).collect();
            let records = records(registry, self.embedder(), &entries);
            for ((key, entry), Known { record, vector, is_whole }) in batch.iter().zip(records) {
                retries |= !is_whole;
                let version = if is_whole { key.version } else { PROVISIONAL };
                places[*entry].slot = Some(index.add(Key { version, ..*key }, record, vector.as_ref()));
            }
            // What one change after the other leaves unpacked is packed aside. Where many come at once, every search would look at
            // each of them, and they take less time to pack than to read.
            while let Some(merge) = index.crowded().filter(|_| batch.len() > MANY) {
                let Some(moves) = index.take(merge.run()) else { break };
                follow(&mut places, &moves);
            }
            done += batch.len();
        }
        progress(done, missing.len());
        updating.behind += gone.len() + missing.len();
        let layout = Layout::new(snapshot, places, index.slots());
        self.hold(Held { index, layout, retries });
    }

    /// Forgets the index where its skills have meanings of other dimensions than `query`, so that it is made anew: an embedder that
    /// says something else under the same name would find nothing by meaning any more. That happens once for as many dimensions, lest
    /// an embedder that is at odds with itself has every search read the library.
    pub(super) fn forget_unless_comparable(&self, query: &Query) {
        let Some(dimensions) = query.dimensions().filter(|_| !self.held().index.is_comparable(query)) else {
            return;
        };
        let mut updating = self.updating();
        if updating.made_for.replace(dimensions) != Some(dimensions) {
            updating.behind += self.held().index.len();
            self.hold(Held { index: Index::new(self.options.weights.clone()), ..Held::default() });
        }
    }

    /// Returns whether there is something to do that no search should wait for: see [`Shelf::tidy`].
    pub(super) fn is_untidy(&self) -> bool {
        self.held().index.due().is_some() || self.is_behind(&self.updating(), self.far_behind())
    }

    /// Packs what should be packed, and keeps the index if so much of it is new that it would be a pity to lose it with the process.
    /// Meanwhile the index is searched, and brought up to date.
    pub(super) fn tidy(&self) {
        self.pack_aside();
        self.keep_if_behind(self.far_behind());
    }

    fn pack_aside(&self) {
        // Whoever is at it looks again when done.
        let Ok(_packing) = self.packing.try_lock() else { return };
        while let Some(merge) = self.held().index.due() {
            let merged = merge.run();
            let _updating = self.updating();
            let held = self.held();
            let mut index = held.index.clone();
            // Where many skills came meanwhile, what was packed may not be there any more.
            let Some(moves) = index.take(merged) else { continue };
            let Some(layout) = held.layout.moved(&moves, index.slots()) else { return };
            self.hold(Held { index, layout, retries: held.retries });
        }
    }

    /// Returns what was kept of the last run, if it is of the same kind.
    fn load(&self) -> Option<Held> {
        let index = self.read(self.options.file.as_ref()?)?.with_weights(self.options.weights.clone());
        Some(Held { index, ..Held::default() })
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
        self.keep_if_behind(1);
    }

    /// Returns how many skills must have come or gone for the index to be kept at once.
    fn far_behind(&self) -> usize {
        FAR_BEHIND.max(self.held().index.len() / FAR_BEHIND_SHARE)
    }

    fn is_behind(&self, updating: &Updating, least: usize) -> bool {
        self.options.file.is_some() && updating.behind >= least
    }

    fn keep_if_behind(&self, least: usize) {
        let _keeping = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        let (behind, held) = {
            let updating = self.updating();
            if !self.is_behind(&updating, least) {
                return;
            }
            (updating.behind, self.held())
        };
        // An index that cannot be kept costs time, nothing else.
        if self.keep(&held.index) {
            self.updating().behind -= behind;
        }
    }

    /// Writes `index` to its file. Returns whether it could.
    fn keep(&self, index: &Index) -> bool {
        let Some(file) = &self.options.file else { return false };
        let (Some(directory), Some(name)) = (file.parent(), file.file_name().and_then(|name| name.to_str()))
        else {
            return false;
        };
        let written = stored::replace_with(directory, name, |file| {
            let mut written = Ok(());
            index.write_to(self.stamp(), |piece| {
                if written.is_ok() {
                    written = file.write_all(piece);
                }
            });
            written
        });
        stored::prune(directory, SUFFIX, MAX_FILES, STALE);
        written.is_ok()
    }

    /// Returns what tells an index that can be used from others.
    fn stamp(&self) -> u64 {
        let id = self.embedder().map(Embedder::id).unwrap_or_default();
        checksum(format!("{EDITION} {} {id}", repertoire_model::FINGERPRINT).as_bytes())
    }

    /// Returns the skills that `query` is about, best first; no answer while the index is that of an earlier snapshot.
    pub(super) fn search(
        &self,
        snapshot: &Arc<Snapshot>,
        request: &SearchRequest,
        query: &Query,
        seen: Seen<'_>,
    ) -> Option<Vec<Found>> {
        let held = self.held();
        let earlier;
        let layout = match held.layout.number() {
            number if number == snapshot.number() => &held.layout,
            number if number < snapshot.number() => return None,
            // Whoever holds an earlier snapshot finds what there still is of it.
            _ => {
                earlier = held.layout.earlier(&held.index, snapshot);
                &earlier
            }
        };
        let narrowed;
        let slots = match seen {
            Seen::Offered if request.is_open() => &layout.offered,
            _ => {
                let is_seen = |entry: &Entry| match seen {
                    Seen::Offered => true,
                    Seen::Of(is_seen) => is_seen(entry),
                };
                let admits = request.filter();
                let offered = snapshot.held(is_seen).filter(|entry| entry.is_offered() && admits(entry));
                narrowed = offered.filter_map(|entry| layout.slot(snapshot.index_of(entry))).collect();
                &narrowed
            }
        };
        let mut hits = held.index.explained(query, slots, request.limit);
        // Of those that are equally good, people expect the first by name first.
        let name = |slot: Slot| layout.entry(slot).map(|entry| snapshot.entries()[entry].name());
        hits.sort_by(|(a, _), (b, _)| {
            b.score.total_cmp(&a.score).then_with(|| name(a.slot).cmp(&name(b.slot)))
        });
        let found = hits.into_iter().filter_map(|(hit, why)| {
            let why = why.into_iter().map(|(word, fields)| Match { word: word.to_owned(), fields });
            Some(Found { entry: layout.entry(hit.slot)?, score: hit.score, why: why.collect() })
        });
        Some(found.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::Library;
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
        let library = Library::builder().provider(provider).open_blocking().unwrap();
        let (file, aside) = (directory.path().join("alpha/SKILL.md"), directory.path().join("aside"));
        fs::rename(&file, &aside).unwrap();
        library.prepare_search(&library.snapshot(), &|_, _| ());
        fs::rename(&aside, &file).unwrap();
        write("beta", "");
        let snapshot = library.reload_blocking();
        let request = SearchRequest::new("marmalade".to_owned(), 1);
        assert_eq!(library.search_blocking(&snapshot, &request, Seen::Offered).len(), 1);
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
        let library = Library::builder().provider(provider).open_blocking().unwrap();
        library.prepare_search(&library.snapshot(), &|_, _| ());
        (0..COUNT).for_each(|number| write(number, "young"));
        let snapshot = library.reload_blocking();
        library.prepare_search(&snapshot, &|_, _| ());
        assert_eq!(library.shelf().held().index.len(), COUNT);
        for number in (0..COUNT).step_by(499) {
            let request = SearchRequest::new(format!("young{number}x"), 1);
            let found = library.search_blocking(&snapshot, &request, Seen::Offered);
            let names = found.iter().map(|found| snapshot.entries()[found.entry].name().to_string());
            assert_eq!(names.collect::<Vec<_>>(), [format!("skill-{number}")]);
        }
    }
}
