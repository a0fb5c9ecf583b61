//! A pointer to an entry of a snapshot.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::snapshot::{Entry, Snapshot};

/// A pointer to an [`Entry`] that keeps its snapshot alive, so it stays valid after a reload.
///
/// Two pointers are equal if they point to the same entry of the same snapshot.
#[derive(Clone)]
pub struct PinnedEntry {
    snapshot: Arc<Snapshot>,
    index: usize,
}

impl PinnedEntry {
    /// Returns a pointer to `entry`, or `None` if it is not one of `snapshot`'s own.
    pub fn new(snapshot: &Arc<Snapshot>, entry: &Entry) -> Option<Self> {
        Self::at(snapshot, snapshot.index_of(entry)?)
    }

    /// Returns a pointer to the entry of `snapshot` at `index`, if there is one.
    pub fn at(snapshot: &Arc<Snapshot>, index: usize) -> Option<Self> {
        (index < snapshot.entries().len()).then(|| Self { snapshot: Arc::clone(snapshot), index })
    }

    /// Returns the snapshot of the entry.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Returns the index of the entry among those of its snapshot.
    pub fn index(&self) -> usize {
        self.index
    }
}

impl Deref for PinnedEntry {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.snapshot.entries()[self.index]
    }
}

impl PartialEq for PinnedEntry {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.snapshot, &other.snapshot) && self.index == other.index
    }
}

impl Eq for PinnedEntry {}

impl fmt::Debug for PinnedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PinnedEntry").field(&**self).finish()
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::provider::memory::{MemoryProvider, SkillDefinition};
    use crate::{Policy, Registry};

    #[test]
    fn an_entry_of_another_snapshot_is_not_pinned() {
        let skill = || SkillDefinition::new("greet", "Greets people.", "# Greet\n");
        let open = || {
            let provider = Arc::new(MemoryProvider::new("builtin", vec![skill()]));
            block_on(Registry::open(vec![provider], Policy::default())).unwrap().snapshot()
        };
        let (snapshot, other) = (open(), open());
        let entry = &snapshot.entries()[0];
        let pinned = PinnedEntry::new(&snapshot, entry).unwrap();
        assert_eq!((pinned.name().as_str(), pinned.index()), ("greet", 0));
        assert_eq!(PinnedEntry::new(&other, entry), None);
        assert_eq!(other.index_of(entry), None);
        assert_eq!(snapshot.index_of(&entry.clone()), None);
        assert_ne!(PinnedEntry::at(&other, 0), Some(pinned));
        assert_eq!(PinnedEntry::at(&snapshot, 1), None);
    }
}
