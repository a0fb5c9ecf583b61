//! Whose turn it is to list: listings are numbered as they begin, and each knows whether another is under way.

use std::sync::{Arc, Mutex, PoisonError};

/// Hands out turns.
#[derive(Debug, Default)]
pub(super) struct Turns(Arc<Mutex<Count>>);

#[derive(Debug, Default)]
struct Count {
    begun: u64,
    under_way: usize,
}

/// One listing, from when it was asked for until it is done.
#[derive(Debug)]
pub(super) struct Turn {
    /// Its number; one that began later has a higher one.
    pub(super) number: u64,
    /// Whether no other listing was under way when it began.
    pub(super) is_alone: bool,
    count: Arc<Mutex<Count>>,
}

impl Turns {
    /// Begins a listing.
    pub(super) fn begin(&self) -> Turn {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        count.begun += 1;
        count.under_way += 1;
        Turn { number: count.begun, is_alone: count.under_way == 1, count: Arc::clone(&self.0) }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.count.lock().unwrap_or_else(PoisonError::into_inner).under_way -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_knows_its_number_and_whether_it_is_alone() {
        let turns = Turns::default();
        let first = turns.begin();
        let second = turns.begin();
        assert_eq!((first.number, first.is_alone), (1, true));
        assert_eq!((second.number, second.is_alone), (2, false));
        drop(first);
        assert!(!turns.begin().is_alone);
        drop(second);
        let last = turns.begin();
        assert_eq!((last.number, last.is_alone), (4, true));
    }
}
