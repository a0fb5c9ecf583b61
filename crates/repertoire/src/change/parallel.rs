//! Work on many skills at once; most of it waits for the disk.

use std::thread;

/// The most threads. Threads that wait for the disk at the same time wait together, because file systems make
/// durable what several of them want at once.
const THREADS: usize = 32;

/// Returns the results of `act` for all `items`, in their order.
pub(super) fn in_parallel<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let part = items.len().div_ceil(THREADS).max(1);
    thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = items
            .chunks(part)
            .map(|part| scope.spawn(move || part.iter().map(act).collect::<Vec<R>>()))
            .collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined.flat_map(|results| results.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        for number in [0, 1, 31, 32, 33, 100] {
            let items: Vec<usize> = (0..number).collect();
            assert_eq!(
                in_parallel(&items, |item| item * 2),
                items.iter().map(|it| it * 2).collect::<Vec<_>>()
            );
        }
    }
}
