//! Work on all cores.

use rayon::prelude::*;

/// The number of items up to which waking other threads takes longer than the work.
const FEW: usize = 4;

/// Returns the results of `make` for each item, in their order.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    if items.len() <= FEW { items.iter().map(make).collect() } else { items.par_iter().map(make).collect() }
}
