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
    /// The skills that hold their names.
    pub(super) held: Vec<usize>,
    /// The same for the same skills.
    pub(super) fingerprint: u64,
}

/// The visible skills of one snapshot by scopes.
#[derive(Debug, Default)]
pub(super) struct VisibleCache(Mutex<Vec<(Vec<Scope>, Arc<VisibleIndices>)>>);

impl VisibleCache {
    /// Returns the skills within `scopes`, if they are known.
    pub(super) fn get(&self, scopes: &[Scope]) -> Option<Arc<VisibleIndices>> {
        let sets = self.lock();
        sets.iter().find(|(known, _)| known == scopes).map(|(_, indices)| Arc::clone(indices))
    }

    /// Keeps the skills within `scopes`.
    pub(super) fn keep(&self, scopes: &[Scope], indices: Arc<VisibleIndices>) {
        let mut sets = self.lock();
        if sets.len() >= MAX_SETS {
            sets.clear();
        }
        sets.push((scopes.to_vec(), indices));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Vec<Scope>, Arc<VisibleIndices>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
