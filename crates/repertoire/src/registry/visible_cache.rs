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

/// Scopes, and the skills that are within all of them.
type ScopedIndices = (Vec<Scope>, Arc<VisibleIndices>);

/// The visible skills of one snapshot by scopes.
#[derive(Debug, Default)]
pub(super) struct VisibleCache(Mutex<Vec<ScopedIndices>>);

impl VisibleCache {
    /// Returns the skills within `scopes`, if they are known.
    pub(super) fn get(&self, scopes: &[Scope]) -> Option<Arc<VisibleIndices>> {
        let sets = self.lock();
        sets.iter().find(|(of, _)| of == scopes).map(|(_, known)| Arc::clone(known))
    }

    /// Keeps the skills within `scopes`.
    pub(super) fn keep(&self, scopes: &[Scope], indices: Arc<VisibleIndices>) {
        let mut sets = self.lock();
        if sets.len() >= MAX_SETS {
            sets.clear();
        }
        sets.push((scopes.to_vec(), indices));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<ScopedIndices>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
