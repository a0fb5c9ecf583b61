//! The index of one snapshot of a library.

use std::collections::HashMap;
use std::sync::Arc;

use repertoire::{Entry, PinnedEntry, SearchHit, SearchRequest, SkillView, Snapshot, Visibility};
use repertoire_model::checksum;

use crate::index::{SearchIndex, SkillKey, SkillSource, Slot, SlotSet};
use crate::rank::{Query, RankedSlot};
use crate::reader::NewRecord;

/// The number of skills whose texts are in memory at the same time.
const BATCH: usize = 1024;
/// The version of a skill that could not be read or embedded. No entry has it: the next snapshot tries again.
const PROVISIONAL: u64 = 0;

/// The index of one snapshot. The slot of a skill is the index of its entry.
#[derive(Default)]
pub(crate) struct SnapshotIndex {
    /// The number of the snapshot; 0 if there is not one yet.
    pub(crate) number: u64,
    pub(crate) index: SearchIndex,
    /// The slots of offered skills.
    offered: SlotSet,
}

impl SnapshotIndex {
    pub(crate) fn without_snapshot(index: SearchIndex) -> Self {
        Self { index, ..Self::default() }
    }

    /// Returns the snapshot index of `snapshot`, which `index` was built for.
    pub(crate) fn of(snapshot: &Snapshot, index: SearchIndex) -> Self {
        let offered = (0..).zip(snapshot.entries()).filter(|(_, entry)| entry.is_offered());
        Self { number: snapshot.number(), index, offered: offered.map(|(slot, _)| slot).collect() }
    }

    /// Returns the slots of the skills that `request` may find among `skills`, a view of the same snapshot.
    pub(crate) fn slots(&self, skills: SkillView<'_>, request: &SearchRequest) -> SlotSet {
        match skills.visibility {
            Visibility::All if request.is_unfiltered() => self.offered.clone(),
            _ => {
                let matching = skills.matching(request);
                matching.filter_map(|entry| Some(skills.snapshot.index_of(entry)? as Slot)).collect()
            }
        }
    }

    /// Returns the matches for `query` among the skills at `slots` of the indexed `snapshot`, best first.
    pub(crate) fn search(
        &self,
        snapshot: &Arc<Snapshot>,
        slots: &SlotSet,
        query: &Query,
        limit: usize,
    ) -> Vec<SearchHit> {
        let ranked = self.index.search_with_words(query, slots, limit).into_iter();
        let hits = ranked.filter_map(|(RankedSlot { slot, score, evidence }, words)| {
            let mut hit = SearchHit::new(PinnedEntry::at(snapshot, slot as usize)?, score);
            hit.confidence = evidence.confidence();
            hit.words = words;
            Some(hit)
        });
        let mut hits: Vec<SearchHit> = hits.collect();
        // People expect equal scores in order of name.
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.entry.name().cmp(b.entry.name())));
        hits
    }
}

/// The parts of an index that a new snapshot can reuse.
pub(crate) struct Reuse {
    /// The slot of each entry whose version is indexed.
    slots: Vec<Option<Slot>>,
    /// The entries that have to be read.
    missing: Vec<(SkillKey, usize)>,
    /// The number of indexed skills that are not in the snapshot.
    gone: usize,
}

impl Reuse {
    /// Returns the parts of `index` that `snapshot` can reuse.
    pub(crate) fn of(index: &SearchIndex, snapshot: &Snapshot) -> Self {
        let indexed = (0..).zip(index.keys()).filter(|(_, key)| *key != SkillKey::default());
        let mut indexed: HashMap<u64, (Slot, u64)> =
            indexed.map(|(slot, key)| (key.identity, (slot, key.version))).collect();
        let mut reuse = Self { slots: vec![None; snapshot.entries().len()], missing: Vec::new(), gone: 0 };
        for (place, entry) in snapshot.entries().iter().enumerate() {
            if entry.is_broken() {
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

    /// Returns the number of skills that were added, changed or removed.
    pub(crate) fn changed(&self) -> usize {
        self.missing.len() + self.gone
    }

    /// Returns the index of `snapshot` from the reusable parts of `before` and the missing entries, whose
    /// records `read` returns. `progress` gets the number of skills read so far and of all to be read.
    pub(crate) fn rebuilt(
        self,
        before: &SearchIndex,
        snapshot: &Snapshot,
        read: &dyn Fn(&[&Entry]) -> Vec<NewRecord>,
        progress: &dyn Fn(usize, usize),
    ) -> SearchIndex {
        let kept = self.slots.into_iter().map(|slot| slot.map_or(SkillSource::Empty, SkillSource::Kept));
        let mut sources: Vec<SkillSource> = kept.collect();
        let mut done = 0;
        progress(done, self.missing.len());
        for batch in self.missing.chunks(BATCH) {
            let entries: Vec<&Entry> = batch.iter().map(|(_, entry)| &snapshot.entries()[*entry]).collect();
            for ((key, entry), read) in batch.iter().zip(read(&entries)) {
                let NewRecord { record, vector, is_complete } = read;
                let version = if is_complete { key.version } else { PROVISIONAL };
                sources[*entry] = SkillSource::New(SkillKey { version, ..*key }, record, vector);
            }
            done += batch.len();
            progress(done, self.missing.len());
        }
        before.rebuilt(sources)
    }
}

/// Returns the key of the skill and its version.
fn key(entry: &Entry) -> SkillKey {
    let document = &entry.document;
    let identity = checksum(format!("{}\0{}", entry.source, entry.locator.as_str()).as_bytes());
    let body = &document.body;
    let version = [document.head_checksum, body.checksum, body.length as u64].map(u64::to_le_bytes).concat();
    SkillKey { identity, version: checksum(&version).max(PROVISIONAL + 1) }
}
