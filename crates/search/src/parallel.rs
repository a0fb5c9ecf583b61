//! Mapping on all cores.

use rayon::prelude::*;

/// The most items that are processed on the calling thread, because waking others would take longer.
const MAX_SEQUENTIAL: usize = 4;

/// Returns the results of `make` for all items, in order.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    if items.len() <= MAX_SEQUENTIAL {
        items.iter().map(make).collect()
    } else {
        items.par_iter().map(make).collect()
    }
}
