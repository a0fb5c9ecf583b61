//! Events that belong together: a checkout of five thousand skills is one change.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::notice::Weight;
use crate::provider::Changes;

/// The longest that a batch is open, however much goes on.
pub(super) const MAX_OPEN: Duration = Duration::from_secs(2);
/// How long a file must be left alone that was written and not closed: whoever writes it in steps is not disturbed.
const UNFINISHED: Duration = Duration::from_millis(500);
/// How many times as long as the last look took a batch of faint hints waits: such hints may never end.
const FAINT_SHARE: u32 = 50;

/// What happened since the last look.
#[derive(Debug, Default)]
pub(super) struct Batch {
    changes: BTreeMap<usize, Changes>,
    first: Option<Instant>,
    last: Option<Instant>,
    /// When a file was last written that nobody told to be closed.
    begun: Option<Instant>,
    is_firm: bool,
    has_faint: bool,
}

impl Batch {
    /// Adds that `changes` of the source `provider` were told of at `now`.
    pub(super) fn add(&mut self, provider: usize, changes: Changes, weight: Weight, now: Instant) {
        if weight == Weight::None {
            return;
        }
        self.changes.entry(provider).or_default().merge(changes);
        match weight {
            Weight::Firm => self.happened(now),
            Weight::Begun => self.begun = Some(now),
            // What may be nothing must not keep what is something waiting.
            Weight::Faint | Weight::None => self.has_faint = true,
        }
        self.first.get_or_insert(now);
    }

    /// Adds that something happened at `now`, and nobody knows what.
    pub(super) fn happened(&mut self, now: Instant) {
        self.is_firm = true;
        self.last = Some(now);
        self.first.get_or_insert(now);
    }

    /// Returns whether nothing happened.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns when to act on it, where things must have been quiet for `debounce` and the last look took `cost`.
    pub(super) fn due(&self, debounce: Duration, looked: Option<(Instant, Duration)>) -> Option<Instant> {
        let first = self.first?;
        let quiet = match self.begun {
            Some(begun) if !self.is_firm && !self.has_faint => begun + UNFINISHED.max(debounce),
            _ => self.last.unwrap_or(first) + debounce,
        };
        let due = quiet.min(first + MAX_OPEN.max(debounce));
        match looked {
            Some((ended, cost)) if !self.is_firm => Some(due.max(ended + cost * FAINT_SHARE)),
            _ => Some(due),
        }
    }

    /// Takes out what happened, and begins anew.
    pub(super) fn take(&mut self) -> Vec<(usize, Changes)> {
        std::mem::take(self).changes.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Locator;

    const QUIET: Duration = Duration::from_millis(30);

    fn touched(name: &str) -> Changes {
        Changes { skills: [Locator::new(name)].into(), ..Changes::default() }
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_batch_ends_when_it_is_quiet_or_has_been_open_for_long() {
        let start = Instant::now();
        let mut batch = Batch::default();
        assert_eq!(batch.due(QUIET, None), None);
        batch.add(0, touched("a"), Weight::Firm, start);
        assert_eq!(batch.due(QUIET, None), Some(start + QUIET));
        batch.add(0, touched("b"), Weight::Firm, start + ms(20));
        assert_eq!(batch.due(QUIET, None), Some(start + ms(50)));
        for step in 1..300 {
            batch.add(0, touched("c"), Weight::Firm, start + ms(20 * step));
        }
        assert_eq!(batch.due(QUIET, None), Some(start + MAX_OPEN));
        let taken = batch.take();
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].1.skills.len(), 3);
        assert!(batch.is_empty() && batch.due(QUIET, None).is_none());
    }

    #[test]
    fn a_file_that_is_being_written_is_waited_for() {
        let start = Instant::now();
        let mut batch = Batch::default();
        batch.add(0, touched("a"), Weight::Begun, start);
        batch.add(0, touched("a"), Weight::Begun, start + ms(100));
        assert_eq!(batch.due(QUIET, None), Some(start + ms(100) + UNFINISHED));
        batch.add(0, touched("a"), Weight::Firm, start + ms(120));
        assert_eq!(batch.due(QUIET, None), Some(start + ms(120) + QUIET), "it is closed");
        batch.take();
        for step in 0..300 {
            batch.add(0, touched("a"), Weight::Begun, start + ms(20 * step));
        }
        assert_eq!(batch.due(QUIET, None), Some(start + MAX_OPEN), "but not for ever");
    }

    #[test]
    fn what_was_lost_belongs_to_the_batch() {
        let start = Instant::now();
        let mut batch = Batch::default();
        batch.happened(start);
        assert!(!batch.is_empty());
        assert_eq!(batch.due(QUIET, None), Some(start + QUIET));
        assert!(batch.take().is_empty() && batch.is_empty());
    }

    #[test]
    fn noise_and_faint_hints_keep_nothing_waiting() {
        let start = Instant::now();
        let mut batch = Batch::default();
        batch.add(0, touched("a"), Weight::None, start);
        assert!(batch.is_empty());
        batch.add(0, touched("a"), Weight::Firm, start);
        for step in 0..100 {
            batch.add(0, touched("b"), Weight::Faint, start + ms(step));
            batch.add(0, touched("b"), Weight::None, start + ms(step));
        }
        assert_eq!(batch.due(QUIET, Some((start, ms(500)))), Some(start + QUIET));
    }

    #[test]
    fn faint_hints_alone_take_a_small_share_of_the_time() {
        let start = Instant::now();
        let mut batch = Batch::default();
        batch.add(0, touched("a"), Weight::Faint, start);
        assert_eq!(batch.due(QUIET, None), Some(start + QUIET));
        assert_eq!(batch.due(QUIET, Some((start, ms(10)))), Some(start + ms(500)));
    }
}
