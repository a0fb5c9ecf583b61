//! Receivers of events.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Event;

/// A receiver of events.
///
/// It is best effort by contract. There is no result, because a load does not fail when it cannot be
/// recorded. `record` is called on the path of every tool call, by several threads at once: it must not block
/// for long, and it should not panic. A sink with slow work to do hands a copy to a thread of its own.
pub trait EventSink: Send + Sync {
    /// Takes note of `event`.
    fn record(&self, event: &Event);
}

impl<T: EventSink + ?Sized> EventSink for Arc<T> {
    fn record(&self, event: &Event) {
        (**self).record(event);
    }
}

/// The sinks of a session. Copies share them.
///
/// ```
/// use std::sync::Arc;
/// use std::time::SystemTime;
/// use repertoire::event::{Event, EventKind, MemorySink, Sinks};
///
/// let memory = Arc::new(MemorySink::new());
/// let sinks = Sinks::new().with(memory.clone());
/// sinks.emit(&Event::new(EventKind::SkillsListed, "list_skills", "s1", SystemTime::now()));
/// assert_eq!(memory.events().len(), 1);
/// ```
#[derive(Clone, Default)]
pub struct Sinks(Vec<Arc<dyn EventSink>>);

impl Sinks {
    /// Returns no sinks at all: events go nowhere.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns these sinks and `sink` after them.
    #[must_use]
    pub fn with(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.0.push(sink);
        self
    }

    /// Returns `true` if there are no sinks, so that a caller need not make events.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Hands `event` to every sink in order. A sink that panics stops neither the others nor the caller.
    pub fn emit(&self, event: &Event) {
        for sink in &self.0 {
            // A panic can leave only the sink's own state inconsistent; none of ours changes during the call.
            let _ = catch_unwind(AssertUnwindSafe(|| sink.record(event)));
        }
    }
}

impl fmt::Debug for Sinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sinks").field(&self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::super::{EventKind, MemorySink};
    use super::*;

    struct BrokenSink;

    impl EventSink for BrokenSink {
        fn record(&self, _event: &Event) {
            panic!("a sink that panics, on purpose");
        }
    }

    #[test]
    fn a_sink_that_panics_does_not_affect_others() {
        let (first, last) = (Arc::new(MemorySink::new()), Arc::new(MemorySink::new()));
        let sinks = Sinks::new().with(first.clone()).with(Arc::new(BrokenSink)).with(last.clone());
        let event = Event::new(EventKind::ToolCalled, "t", "s", SystemTime::UNIX_EPOCH);
        for expect in 1..=2 {
            sinks.emit(&event);
            assert_eq!((first.events().len(), last.events().len()), (expect, expect));
        }
        assert_eq!(format!("{sinks:?}"), "Sinks(3)");
    }
}
