//! How the skills of a snapshot lie in the index, and how they come to lie there when it is followed by another.
//!
//! Snapshots share what did not change, so two of them are compared by addresses. Only what differs costs more than a look.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use repertoire_model::search::{Index, Key, Moves, Slot, SlotSet};
use repertoire_model::{SkillName, State, checksum};

use crate::registry::{Entry, Snapshot};

/// The version of a skill that could not be read, or whose meaning could not be had: none has it, so the next snapshot, or the next
/// run, tries again.
pub(super) const PROVISIONAL: u64 = 0;

/// How the skills of a snapshot lie in the index.
#[derive(Default)]
pub(super) struct Layout {
    /// The snapshot; none before the first.
    snapshot: Option<Arc<Snapshot>>,
    /// Where each entry stands.
    places: Vec<Place>,
    /// The entry of each slot.
    entries: Vec<Option<u32>>,
    /// The skills that everybody is offered.
    pub(super) offered: SlotSet,
}

/// Where an entry stands.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) slot: Option<Slot>,
    /// Whether everybody is offered the skill.
    is_offered: bool,
}

/// How the skills of a snapshot should lie in the index, which lacks some of them.
pub(super) struct Draft {
    pub(super) places: Vec<Place>,
    /// The entries that the index lacks.
    pub(super) missing: Vec<(Key, usize)>,
    /// What the index has and the snapshot does not.
    pub(super) gone: Vec<Slot>,
}

impl Layout {
    /// Returns how the skills of `snapshot` lie at `places` of an index of `slots` slots.
    pub(super) fn new(snapshot: &Arc<Snapshot>, places: Vec<Place>, slots: usize) -> Self {
        let mut layout = Self { snapshot: Some(Arc::clone(snapshot)), ..Self::default() };
        layout.entries = vec![None; slots];
        for (entry, Place { slot, is_offered }) in (0..).zip(&places) {
            let Some(slot) = slot else { continue };
            if let Some(place) = layout.entries.get_mut(*slot as usize) {
                *place = Some(entry);
                if *is_offered {
                    layout.offered.insert(*slot);
                }
            }
        }
        layout.places = places;
        layout
    }

    /// Returns the number of the snapshot; 0 before the first.
    pub(super) fn number(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.number())
    }

    /// Returns the entry at `slot`.
    pub(super) fn entry(&self, slot: Slot) -> Option<usize> {
        self.entries.get(slot as usize).copied().flatten().map(|entry| entry as usize)
    }

    /// Returns where `entry` stands in the index.
    pub(super) fn slot(&self, entry: usize) -> Option<Slot> {
        self.places.get(entry)?.slot
    }

    /// Returns the same skills where `moves` says that they stand now, in an index of `slots` slots.
    pub(super) fn moved(&self, moves: &Moves, slots: usize) -> Option<Self> {
        let mut places = self.places.clone();
        follow(&mut places, moves);
        Some(Self::new(self.snapshot.as_ref()?, places, slots))
    }

    /// Returns how the skills of `snapshot`, which comes after this one's, should lie in `index`, in which this one's lie.
    ///
    /// With `retries`, those that are provisional are missing.
    pub(super) fn draft(&self, index: &Index, snapshot: &Snapshot, retries: bool) -> Draft {
        let is_provisional =
            |slot: Slot| retries && index.key(slot).is_some_and(|key| key.version == PROVISIONAL);
        let (mut places, others, left) = self.compared(snapshot, is_provisional);
        let mut left = match self.snapshot {
            Some(_) => by_identity(left.into_iter().filter_map(|slot| Some((slot, index.key(slot)?)))),
            // What an earlier run left behind may be of use.
            None => by_identity(index.keys()),
        };
        let (mut missing, mut gone) = (Vec::new(), Vec::new());
        for entry in others {
            let key = key(&snapshot.entries()[entry]);
            match left.remove(&key.identity) {
                Some((slot, version)) if version == key.version => places[entry].slot = Some(slot),
                Some((slot, _)) => {
                    gone.push(slot);
                    missing.push((key, entry));
                }
                None => missing.push((key, entry)),
            }
        }
        gone.extend(left.into_values().map(|(slot, _)| slot));
        Draft { places, missing, gone }
    }

    /// Returns how those skills of `snapshot`, an earlier one, lie in `index` that are still there, in whatever version.
    pub(super) fn earlier(&self, index: &Index, snapshot: &Arc<Snapshot>) -> Self {
        let (mut places, others, left) = self.compared(snapshot, |_| false);
        let left = by_identity(left.into_iter().filter_map(|slot| Some((slot, index.key(slot)?))));
        for entry in others {
            let key = key(&snapshot.entries()[entry]);
            places[entry].slot = left.get(&key.identity).map(|(slot, _)| *slot);
        }
        Self::new(snapshot, places, index.slots())
    }

    /// Compares the snapshot with `other`. Returns where the entries of the other stand that are the same, which of the rest can be
    /// found, and the slots of this one's that are not among the same.
    fn compared(
        &self,
        other: &Snapshot,
        is_left: impl Fn(Slot) -> bool,
    ) -> (Vec<Place>, Vec<usize>, Vec<Slot>) {
        let before = self.snapshot.as_ref().map_or(&[][..], |snapshot| snapshot.entries());
        let mut before = before.iter().zip(&self.places).peekable();
        let mut places = Vec::with_capacity(other.entries().len());
        let (mut others, mut left) = (Vec::new(), Vec::new());
        for (index, entry) in other.entries().iter().enumerate() {
            let is_same =
                |(old, place): &(&Entry, &Place)| is_same(old, entry) && !place.slot.is_some_and(&is_left);
            let same = match before.next_if(is_same) {
                Some(same) => Some(same),
                // Both are in order, so whatever comes before it is not there any more.
                None => loop {
                    let is_before = |(old, _): &(&Entry, &Place)| order(old) <= order(entry);
                    match before.next_if(|pair| !is_same(pair) && is_before(pair)) {
                        Some((_, place)) => left.extend(place.slot),
                        None => break before.next_if(is_same),
                    }
                },
            };
            match same {
                Some((_, place)) => places.push(*place),
                None => {
                    places.push(Place { slot: None, is_offered: entry.is_in_catalog() });
                    if entry.state != State::Quarantined {
                        others.push(index);
                    }
                }
            }
        }
        left.extend(before.filter_map(|(_, place)| place.slot));
        (places, others, left)
    }
}

/// Moves `places` to where `moves` says.
pub(super) fn follow(places: &mut [Place], moves: &Moves) {
    places.iter_mut().for_each(|place| place.slot = place.slot.and_then(|slot| moves.of(slot)));
}

/// Returns what entries of a snapshot are sorted by.
fn order(entry: &Entry) -> (&SkillName, State) {
    (entry.name(), entry.state)
}

/// Returns whether nothing changed from one entry to the other.
fn is_same(one: &Entry, other: &Entry) -> bool {
    Arc::ptr_eq(&one.listed, &other.listed)
        && one.state == other.state
        && (Arc::ptr_eq(&one.source, &other.source) || one.source == other.source)
}

/// Takes identities for their own hashes, which is what they are.
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

/// Returns where each skill stands, and in which version, by its identity.
fn by_identity(keys: impl Iterator<Item = (Slot, Key)>) -> HashMap<u64, (Slot, u64), AsIs> {
    keys.map(|(slot, key)| (key.identity, (slot, key.version))).collect()
}

/// Returns what tells the skill and its version from others.
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
    use std::path::Path;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::{SearchRequest, Seen};
    use crate::Library;
    use crate::provider::fs::{FsOptions, FsProvider};
    use std::sync::Arc;

    const WORDS: &[&str] = &["forms", "invoices", "clusters", "images", "releases", "tests"];

    /// What happens to a library of two sources, in which names are lost and won.
    #[derive(Debug, Clone)]
    enum Step {
        /// A skill comes, or says something else.
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
        /// Somebody asks, so that the index follows.
        Search(usize),
        /// Somebody asks who still holds the snapshot before.
        SearchEarlier(usize),
        Tidy,
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
            1 => Just(Step::Tidy),
        ]
    }

    fn library(directory: &Path) -> Library {
        let provider = |source: &str| {
            let root = directory.join(source);
            fs::create_dir_all(&root).unwrap();
            Arc::new(FsProvider::new(FsOptions::new(source, root)))
        };
        Library::builder().provider(provider("0")).provider(provider("1")).open_blocking().unwrap()
    }

    fn answers(library: &Library, word: usize) -> Vec<(String, u32, String)> {
        let snapshot = library.snapshot();
        let request = SearchRequest::new(format!("the {} of skill {}", WORDS[word], WORDS[0]), 20);
        let found = library.search_blocking(&snapshot, &request, Seen::Offered);
        let name = |entry: usize| snapshot.entries()[entry].qualified_name();
        found
            .into_iter()
            .map(|found| (name(found.entry), found.score.to_bits(), format!("{:?}", found.why)))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn whatever_happened_the_answers_are_those_of_an_index_made_at_once(steps in vec(step(), 0..30)) {
            let directory = tempfile::tempdir().unwrap();
            let library = library(directory.path());
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
                        library.reload_blocking();
                    }
                    Step::Search(word) => {
                        answers(&library, word);
                    }
                    Step::SearchEarlier(word) => {
                        let request = SearchRequest::new(WORDS[word], 20);
                        for found in library.search_blocking(&earlier, &request, Seen::Offered) {
                            prop_assert!(earlier.entries()[found.entry].is_in_catalog());
                        }
                    }
                    Step::Tidy => library.shelf().tidy(),
                }
            }
            library.reload_blocking();
            let fresh = self::library(directory.path());
            for word in 0..WORDS.len() {
                prop_assert_eq!(answers(&library, word), answers(&fresh, word));
            }
        }
    }
}
