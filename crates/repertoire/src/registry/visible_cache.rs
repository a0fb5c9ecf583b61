//! Keeps in a snapshot which of its skills are within which scopes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use repertoire_model::scope::Scope;

/// The most sets of scopes that are kept for one snapshot.
const MAX_SETS: usize = 256;

/// The indices of the entries of one snapshot that somebody may see.
#[derive(Debug)]
pub(super) struct VisibleIndices {
    /// One for each entry.
    pub(super) is_seen: Vec<bool>,
    /// Those that hold their names.
    pub(super) held: Vec<usize>,
    /// The same for the same skills.
    pub(super) fingerprint: u64,
}

/// The skills of one snapshot that are within all of some scopes.
#[derive(Debug)]
struct ScopedIndices {
    scopes: Vec<Scope>,
    indices: Arc<VisibleIndices>,
    /// `true` once somebody asked for them in this snapshot; those that nobody asked for are not taken over by the next one.
    is_used: bool,
}

/// The visible skills of one snapshot by scopes.
#[derive(Debug, Default)]
pub(super) struct VisibleCache(Mutex<Vec<ScopedIndices>>);

impl VisibleCache {
    /// Returns the skills within `scopes`, if they are known.
    pub(super) fn get(&self, scopes: &[Scope]) -> Option<Arc<VisibleIndices>> {
        let mut sets = self.lock();
        let known = sets.iter_mut().find(|known| known.scopes == scopes)?;
        known.is_used = true;
        Some(Arc::clone(&known.indices))
    }

    /// Keeps the skills within `scopes`.
    pub(super) fn keep(&self, scopes: &[Scope], indices: Arc<VisibleIndices>) {
        self.insert(ScopedIndices { scopes: scopes.to_vec(), indices, is_used: true });
    }

    /// Keeps for each set of scopes that `before` was asked for the skills that `indices_of` returns.
    pub(super) fn take_over(
        &self,
        before: &Self,
        indices_of: impl Fn(&[Scope], &VisibleIndices) -> VisibleIndices,
    ) {
        let used: Vec<(Vec<Scope>, Arc<VisibleIndices>)> = {
            let sets = before.lock();
            let used = sets.iter().filter(|set| set.is_used);
            used.map(|set| (set.scopes.clone(), Arc::clone(&set.indices))).collect()
        };
        for (scopes, indices) in used {
            let indices = Arc::new(indices_of(&scopes, &indices));
            self.insert(ScopedIndices { scopes, indices, is_used: false });
        }
    }

    /// Returns whether no scopes were asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn insert(&self, set: ScopedIndices) {
        let mut sets = self.lock();
        if sets.len() >= MAX_SETS {
            sets.clear();
        }
        sets.push(set);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ScopedIndices>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
