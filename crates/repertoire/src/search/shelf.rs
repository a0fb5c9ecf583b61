//! The search index of a registry, rebuilt when a snapshot follows another.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use repertoire_model::search::{Index, Key, Query, SkillSource, Slot, SlotSet};
use repertoire_model::{State, checksum};

use super::embedder::Embedder;
use super::options::{SUFFIX, SearchOptions};
use super::read::{Known, records};
use super::request::{Found, Match, SearchRequest, Seen};
use crate::registry::{Entry, Registry, Snapshot};
use crate::stored;

/// The fewest skills that are read before the index is rebuilt. Batches grow with the index, so that few rebuilds read a library.
const BATCH: usize = 1024;
/// The largest file that an index is read from.
const MAX_FILE_BYTES: usize = 2 << 30;
/// The most indices that are stored beside each other; those written last stay.
const MAX_FILES: usize = 16;
/// The age at which a temporary file was left behind by a process that ended while writing it.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// The number of changed skills at which the index is stored at once, not only when the process ends.
const STORED_AT_ONCE: usize = 256;
/// The version of the record of a skill: an index stored under another is rebuilt.
const EDITION: u64 = 4;
/// The version of a skill that could not be read or embedded: no skill has it, so the next snapshot tries again.
const PROVISIONAL: u64 = 0;

/// The search index of a registry.
///
/// A search holds an index that never changes, so it does not wait for one that is being rebuilt.
#[derive(Default)]
pub(crate) struct Shelf {
    options: SearchOptions,
    /// Held while the index is rebuilt.
    rebuild: Mutex<RebuildState>,
    current: RwLock<Arc<SnapshotIndex>>,
}

#[derive(Default)]
struct RebuildState {
    /// Whether the index of the last run was looked for.
    is_loaded: bool,
    /// The number of skills that changed since the index was last stored.
    unsaved: usize,
    /// The dimensions of embeddings for which the index was last discarded.
    discarded_for: Option<usize>,
}

/// The index of one snapshot. The slot of a skill is the place of its entry.
#[derive(Default)]
pub(super) struct SnapshotIndex {
    /// The number of the snapshot; 0 before the first.
    number: u64,
    index: Index,
    /// The skills that every model is offered.
    offered: SlotSet,
}

impl Shelf {
    /// Returns an empty index.
    pub(crate) fn new(options: SearchOptions) -> Self {
        let current = SnapshotIndex::unplaced(Index::new(options.weights.clone()));
        Self { options, current: RwLock::new(Arc::new(current)), ..Self::default() }
    }

    /// Returns the embedder of queries and skills.
    pub(super) fn embedder(&self) -> Option<&dyn Embedder> {
        self.options.embedder.as_deref()
    }

    fn current(&self) -> Arc<SnapshotIndex> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_current(&self, current: &Arc<SnapshotIndex>) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(current);
    }

    fn rebuild_state(&self) -> MutexGuard<'_, RebuildState> {
        self.rebuild.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the index of `snapshot`, if it is the current one.
    pub(super) fn ready(&self, snapshot: &Snapshot) -> Option<Arc<SnapshotIndex>> {
        Some(self.current()).filter(|current| current.number == snapshot.number())
    }

    /// Returns the index of `snapshot`, one of `registry`. Only skills that changed are read; `progress` receives the number of
    /// skills read so far, and of all that will be.
    pub(super) fn update(
        &self,
        registry: &Registry,
        snapshot: &Arc<Snapshot>,
        progress: &dyn Fn(usize, usize),
    ) -> Arc<SnapshotIndex> {
        let mut state = self.rebuild_state();
        if !std::mem::replace(&mut state.is_loaded, true)
            && let Some(index) = self.options.file.as_deref().and_then(|file| self.read(file))
        {
            self.set_current(&Arc::new(SnapshotIndex::unplaced(index)));
        }
        if let Some(current) = self.ready(snapshot) {
            return current;
        }
        let current = self.current();
        let Reuse { slots, missing, gone } = Reuse::of(&current.index, snapshot);
        let index = self.rebuilt(&current.index, registry, snapshot, slots, &missing, progress);
        let offered = (0..).zip(snapshot.entries()).filter(|(_, entry)| entry.is_in_catalog());
        let offered = offered.map(|(slot, _)| slot).collect();
        let rebuilt = Arc::new(SnapshotIndex { number: snapshot.number(), index, offered });
        // The holder of an earlier snapshot gets an index of its own.
        if rebuilt.number > current.number {
            self.set_current(&rebuilt);
            state.unsaved += missing.len() + gone;
            self.store(&mut state, STORED_AT_ONCE);
        }
        rebuilt
    }

    /// Returns the index of `snapshot`: `slots` of `before`, and what is read of the `missing` entries.
    fn rebuilt(
        &self,
        before: &Index,
        registry: &Registry,
        snapshot: &Snapshot,
        mut slots: Vec<Option<Slot>>,
        missing: &[(Key, usize)],
        progress: &dyn Fn(usize, usize),
    ) -> Index {
        let mut index = None;
        let mut done = 0;
        loop {
            progress(done, missing.len());
            let batch = &missing[done..missing.len().min(done + BATCH.max(done))];
            let entries: Vec<&Entry> = batch.iter().map(|(_, entry)| &snapshot.entries()[*entry]).collect();
            let mut new: HashMap<usize, SkillSource> = HashMap::new();
            for ((key, entry), known) in batch.iter().zip(records(registry, self.embedder(), &entries)) {
                let Known { record, vector, is_whole } = known;
                let version = if is_whole { key.version } else { PROVISIONAL };
                new.insert(*entry, SkillSource::New(Key { version, ..*key }, record, vector));
            }
            let sources = slots.iter_mut().enumerate().map(|(entry, slot)| match new.remove(&entry) {
                Some(source) => {
                    *slot = Some(entry as Slot);
                    source
                }
                // From the next round on it stands where its entry does.
                None => match slot.as_mut() {
                    Some(slot) => SkillSource::Kept(std::mem::replace(slot, entry as Slot)),
                    None => SkillSource::Empty,
                },
            });
            let rebuilt = index.as_ref().unwrap_or(before).rebuilt(sources);
            done += batch.len();
            if done == missing.len() {
                progress(done, missing.len());
                return rebuilt;
            }
            index = Some(rebuilt);
        }
    }

    /// Discards the current index if the embeddings of `index` have other dimensions than that of `query`, which happens when an
    /// embedder returns others under the same name. Returns whether it did: once per number of dimensions, since an inconsistent
    /// embedder must not make every search read the library.
    pub(super) fn discard_unless_comparable(&self, index: &SnapshotIndex, query: &Query) -> bool {
        let Some(dimensions) = query.dimensions().filter(|_| !index.index.is_comparable(query)) else {
            return false;
        };
        let mut state = self.rebuild_state();
        let is_new = state.discarded_for.replace(dimensions) != Some(dimensions);
        if is_new {
            let index = Index::new(self.options.weights.clone());
            self.set_current(&Arc::new(SnapshotIndex::unplaced(index)));
        }
        is_new
    }

    /// Returns the file that the index is stored in, and the number of skills in it; `None` if there is none of use.
    pub(super) fn kept(&self) -> Option<(&Path, usize)> {
        let file = self.options.file.as_deref()?;
        Some((file, self.read(file)?.len()))
    }

    fn read(&self, file: &Path) -> Option<Index> {
        let bytes = stored::read(file, MAX_FILE_BYTES)?;
        Index::from_bytes(&bytes, self.stamp(), self.options.weights.clone())
    }

    /// Stores the index for the next run, if it changed.
    pub(crate) fn save(&self) {
        self.store(&mut self.rebuild_state(), 1);
    }

    /// Stores the index if at least `least` skills changed. An index that cannot be stored costs time, nothing else.
    fn store(&self, state: &mut RebuildState, least: usize) {
        let Some(file) = self.options.file.as_deref().filter(|_| state.unsaved >= least) else { return };
        let (Some(directory), Some(name)) = (file.parent(), file.file_name().and_then(|name| name.to_str()))
        else {
            return;
        };
        let bytes = self.current().index.to_bytes(self.stamp());
        if stored::replace(directory, name, &bytes).is_ok() {
            state.unsaved = 0;
        }
        stored::prune(directory, SUFFIX, MAX_FILES, STALE);
    }

    /// Returns what identifies an index that this version can use.
    fn stamp(&self) -> u64 {
        let id = self.embedder().map(Embedder::id).unwrap_or_default();
        checksum(format!("{EDITION} {} {id}", repertoire_model::FINGERPRINT).as_bytes())
    }
}

impl SnapshotIndex {
    /// Returns `index`, which is of no snapshot yet.
    fn unplaced(index: Index) -> Self {
        Self { index, ..Self::default() }
    }

    /// Returns the skills of `snapshot`, which this is the index of, that `query` is about, best first.
    pub(super) fn search(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest,
        query: &Query,
        seen: Seen<'_>,
    ) -> Vec<Found> {
        let narrowed;
        let slots = match seen {
            Seen::Offered if request.is_open() => &self.offered,
            _ => {
                let is_seen = |entry: &Entry| match seen {
                    Seen::Offered => true,
                    Seen::Of(is_seen) => is_seen(entry),
                };
                let admits = request.filter();
                let offered = snapshot.held(is_seen).filter(|entry| entry.is_offered() && admits(entry));
                narrowed = offered.map(|entry| snapshot.index_of(entry) as Slot).collect();
                &narrowed
            }
        };
        let mut hits = self.index.explained(query, slots, request.limit);
        // Of equal scores, people expect the first by name first.
        let name = |slot: Slot| snapshot.entries()[slot as usize].name();
        hits.sort_by(|(a, _), (b, _)| {
            b.score.total_cmp(&a.score).then_with(|| name(a.slot).cmp(name(b.slot)))
        });
        let found = hits.into_iter().map(|(hit, why)| {
            let why = why.into_iter().map(|(word, fields)| Match { word: word.to_owned(), fields });
            Found { entry: hit.slot as usize, score: hit.score, why: why.collect() }
        });
        found.collect()
    }
}

/// The parts of an index that another snapshot can use.
struct Reuse {
    /// The slot of each entry that is indexed in its version.
    slots: Vec<Option<Slot>>,
    /// The entries that are not.
    missing: Vec<(Key, usize)>,
    /// The number of indexed skills that the snapshot does not have.
    gone: usize,
}

impl Reuse {
    fn of(index: &Index, snapshot: &Snapshot) -> Self {
        let indexed = (0..).zip(index.keys()).filter(|(_, key)| *key != Key::default());
        let mut indexed: HashMap<u64, (Slot, u64)> =
            indexed.map(|(slot, key)| (key.identity, (slot, key.version))).collect();
        let mut reuse = Self { slots: vec![None; snapshot.entries().len()], missing: Vec::new(), gone: 0 };
        for (place, entry) in snapshot.entries().iter().enumerate() {
            if entry.state == State::Quarantined {
                continue;
            }
            let key = key(entry);
            match indexed.remove(&key.identity) {
                Some((slot, version)) if version == key.version => reuse.slots[place] = Some(slot),
                _ => reuse.missing.push((key, place)),
            }
        }
        reuse.gone = indexed.len();
        reuse
    }
}

/// Returns the key of the skill and its version.
fn key(entry: &Entry) -> Key {
    let document = &entry.document;
    let identity = checksum(format!("{}\0{}", entry.source, entry.locator.as_str()).as_bytes());
    let body = &document.body;
    let version = [document.head_checksum, body.checksum, body.length as u64].map(u64::to_le_bytes).concat();
    Key { identity, version: checksum(&version).max(PROVISIONAL + 1) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use pollster::block_on;

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
        let library = block_on(Library::builder().provider(provider).open()).unwrap();
        let (file, aside) = (directory.path().join("alpha/SKILL.md"), directory.path().join("aside"));
        fs::rename(&file, &aside).unwrap();
        library.prepare_search(&library.snapshot(), &|_, _| ());
        fs::rename(&aside, &file).unwrap();
        write("beta", "");
        let snapshot = block_on(library.reload());
        let request = SearchRequest::new("marmalade".to_owned(), 1);
        assert_eq!(block_on(library.search(&snapshot, &request, Seen::Offered)).len(), 1);
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
        let library = block_on(Library::builder().provider(provider).open()).unwrap();
        library.prepare_search(&library.snapshot(), &|_, _| ());
        (0..COUNT).for_each(|number| write(number, "young"));
        let snapshot = block_on(library.reload());
        library.prepare_search(&snapshot, &|_, _| ());
        assert_eq!(library.shelf().current().index.len(), COUNT);
        for number in (0..COUNT).step_by(499) {
            let request = SearchRequest::new(format!("young{number}x"), 1);
            let found = block_on(library.search(&snapshot, &request, Seen::Offered));
            let names = found.iter().map(|found| snapshot.entries()[found.entry].name().to_string());
            assert_eq!(names.collect::<Vec<_>>(), [format!("skill-{number}")]);
        }
    }

    const WORDS: &[&str] = &["forms", "invoices", "clusters", "images", "releases", "tests"];

    /// A change of a library of two sources, in which names are lost and won.
    #[derive(Debug, Clone)]
    enum Step {
        /// Adds or changes a skill.
        Write {
            source: usize,
            name: usize,
            word: usize,
            body: usize,
            is_broken: bool,
        },
        Remove {
            source: usize,
            name: usize,
        },
        Reload,
        /// Searches the newest snapshot, so that the index follows.
        Search(usize),
        /// Searches the snapshot before.
        SearchEarlier(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (0..2usize, 0..5usize, 0..WORDS.len(), 0..WORDS.len(), prop::bool::weighted(0.1)).prop_map(
                |(source, name, word, body, is_broken)| Step::Write { source, name, word, body, is_broken }
            ),
            3 => (0..2usize, 0..5usize).prop_map(|(source, name)| Step::Remove { source, name }),
            5 => Just(Step::Reload),
            3 => (0..WORDS.len()).prop_map(Step::Search),
            1 => (0..WORDS.len()).prop_map(Step::SearchEarlier),
        ]
    }

    fn library_of(directory: &Path) -> Library {
        let provider = |source: &str| {
            let root = directory.join(source);
            fs::create_dir_all(&root).unwrap();
            Arc::new(FsProvider::new(FsOptions::new(source, root)))
        };
        block_on(Library::builder().provider(provider("0")).provider(provider("1")).open()).unwrap()
    }

    fn answers(library: &Library, word: usize) -> Vec<(String, u32, String)> {
        let snapshot = library.snapshot();
        let request = SearchRequest::new(format!("the {} of skill {}", WORDS[word], WORDS[0]), 20);
        let found = block_on(library.search(&snapshot, &request, Seen::Offered));
        let name = |entry: usize| snapshot.entries()[entry].qualified_name();
        found
            .into_iter()
            .map(|found| (name(found.entry), found.score.to_bits(), format!("{:?}", found.why)))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn an_index_rebuilt_step_by_step_ranks_like_one_built_at_once(steps in vec(step(), 0..30)) {
            let directory = tempfile::tempdir().unwrap();
            let library = library_of(directory.path());
            let mut earlier = library.snapshot();
            for step in steps {
                match step {
                    Step::Write { source, name, word, body, is_broken } => {
                        let skill = directory.path().join(source.to_string()).join(format!("skill-{name}"));
                        fs::create_dir_all(&skill).unwrap();
                        let description = match is_broken {
                            true => String::new(),
                            false => format!("description: Does {}.\n", WORDS[word]),
                        };
                        let text = format!("---\nname: skill-{name}\n{description}---\n{}\n", WORDS[body]);
                        fs::write(skill.join("SKILL.md"), text).unwrap();
                    }
                    Step::Remove { source, name } => {
                        let skill = directory.path().join(source.to_string()).join(format!("skill-{name}"));
                        let _ = fs::remove_dir_all(skill);
                    }
                    Step::Reload => {
                        earlier = library.snapshot();
                        block_on(library.reload());
                    }
                    Step::Search(word) => {
                        answers(&library, word);
                    }
                    Step::SearchEarlier(word) => {
                        let request = SearchRequest::new(WORDS[word], 20);
                        for found in block_on(library.search(&earlier, &request, Seen::Offered)) {
                            prop_assert!(earlier.entries()[found.entry].is_in_catalog());
                        }
                    }
                }
            }
            block_on(library.reload());
            let fresh = library_of(directory.path());
            for word in 0..WORDS.len() {
                prop_assert_eq!(answers(&library, word), answers(&fresh, word));
            }
        }
    }
}
