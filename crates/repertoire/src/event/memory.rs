//! Events kept in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Event, EventSink};

/// The default limit of events that are kept.
const DEFAULT_CAPACITY: usize = 1_000;

/// A sink that keeps the latest events, for tests and for hosts that show them.
#[derive(Debug)]
pub struct MemorySink {
    capacity: usize,
    events: Mutex<VecDeque<Event>>,
}

impl MemorySink {
    /// Returns a sink that keeps the latest 1,000 events.
    pub fn new() -> Self {
        Self::with_capacity(DEFAULT_CAPACITY)
    }

    /// Returns a sink that keeps the latest `capacity` events.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { capacity, events: Mutex::default() }
    }

    /// Returns the events, the oldest first.
    pub fn events(&self) -> Vec<Event> {
        self.lock().iter().cloned().collect()
    }

    /// Returns the events, the oldest first, and forgets them.
    pub fn take(&self) -> Vec<Event> {
        self.lock().drain(..).collect()
    }

    /// The queue is whole between any two of its operations, so one that panicked elsewhere did it no harm.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemorySink {
    fn default() -> Self {
        Self::new()
    }
}

impl EventSink for MemorySink {
    fn record(&self, event: &Event) {
        if self.capacity == 0 {
            return;
        }
        let mut events = self.lock();
        if events.len() == self.capacity {
            events.pop_front();
        }
        events.push_back(event.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::super::{EventKind, sink_tests};
    use super::*;

    #[test]
    fn the_memory_sink_passes_the_conformance_suite() {
        let sink = MemorySink::new();
        let expect = sink_tests::stand(&sink);
        let seen: Vec<String> = sink.take().into_iter().map(|event| event.session).collect();
        assert_eq!((seen.len(), seen.into_iter().collect()), (expect.len(), expect));
    }

    #[test]
    fn the_latest_events_are_kept() {
        for (capacity, expect) in [(0, vec![]), (2, vec!["3", "4"]), (9, vec!["1", "2", "3", "4"])] {
            let sink = MemorySink::with_capacity(capacity);
            for session in ["1", "2", "3", "4"] {
                sink.record(&Event::new(EventKind::ToolCalled, "t", session, SystemTime::UNIX_EPOCH));
            }
            let sessions: Vec<String> = sink.events().into_iter().map(|event| event.session).collect();
            assert_eq!(sessions, expect);
            assert_eq!(sink.take().len(), expect.len());
            assert_eq!(sink.take(), []);
        }
    }
}
