//! The sink that appends events to the journal of a store.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::queue::{BatchWriter, EventQueue, OnFailure, QueueOptions};
use super::{Event, EventSink};
use crate::store::{Journal, Retention};
use crate::{Error, clock};

/// The least time between two removals of old events.
const PRUNE_INTERVAL: Duration = Duration::from_secs(60 * 60);

repertoire_model::options! {
    /// The options of a [`JournalSink`].
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct JournalOptions {
        /// The most events that wait to be written; more are dropped and counted.
        pub queue: usize = 10_000,
        /// The events that the journal keeps.
        pub retention: Retention = Retention { age: Duration::from_secs(400 * 24 * 60 * 60), events: 2_000_000 },
        /// The pauses before the attempts to append events again that could not be appended; the last one is
        /// repeated while the queue has room.
        pub retries: Vec<Duration> = [10, 100, 1_000].map(Duration::from_millis).to_vec(),
        /// Called with the reason when events cannot be written after these pauses, once.
        pub on_failure: Option<Arc<OnFailure>>,
    }
}

/// A sink that appends events to a journal, from a thread of its own.
///
/// It is best effort: events that cannot be written are kept while the queue has room; then the oldest are
/// dropped and counted. The journal is opened and the thread started with the first event. A sink that is
/// dropped waits a short time for the events that are queued.
///
/// ```
/// use std::sync::Arc;
/// use std::time::{Duration, SystemTime};
/// use repertoire::event::{Event, EventKind, EventSink, JournalOptions, JournalSink};
/// use repertoire::store::Journal;
///
/// fn record(journal: Arc<dyn Journal>) {
///     let sink = JournalSink::new(move || Ok(Arc::clone(&journal)), JournalOptions::default());
///     sink.record(&Event::new(EventKind::SkillsListed, "list_skills", "s1", SystemTime::now()));
///     assert!(sink.flush(Duration::from_secs(10)));
/// }
/// ```
pub struct JournalSink(EventQueue);

impl JournalSink {
    /// Returns a sink that appends to the journal that `open` returns, which is called with the first event,
    /// on another thread, and again with later events if it fails.
    pub fn new(
        mut open: impl FnMut() -> Result<Arc<dyn Journal>, Error> + Send + 'static,
        options: JournalOptions,
    ) -> Self {
        let JournalOptions { queue, retention, retries, on_failure } = options;
        let open = move || -> Result<Box<dyn BatchWriter>, Error> {
            Ok(Box::new(JournalWriter { journal: open()?, retention, pruned: None }))
        };
        Self(EventQueue::new(open, QueueOptions { name: "journal", limit: queue, retries, on_failure }))
    }

    /// Returns the number of events that were dropped.
    pub fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    /// Waits until all events so far are written or dropped, or until `timeout`; returns whether they are.
    pub fn flush(&self, timeout: Duration) -> bool {
        self.0.flush(timeout)
    }
}

impl EventSink for JournalSink {
    fn record(&self, event: &Event) {
        self.0.push(event);
    }
}

impl fmt::Debug for JournalSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalSink").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

/// Appends to the journal and removes old events.
struct JournalWriter {
    journal: Arc<dyn Journal>,
    retention: Retention,
    /// When old events were removed last.
    pruned: Option<Instant>,
}

impl BatchWriter for JournalWriter {
    fn write(&mut self, events: &[Event]) -> Result<(), Error> {
        self.journal.append(events)
    }

    fn after_batch(&mut self) {
        if self.pruned.is_none_or(|pruned| pruned.elapsed() >= PRUNE_INTERVAL) {
            self.pruned = Some(Instant::now());
            // The journal is only larger than it should be; the next attempt is in an hour.
            let _ = self.journal.prune(self.retention, clock::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::SystemTime;

    use super::super::{EventKind, sink_tests};
    use super::*;
    use crate::ErrorKind;
    use crate::store::{DailyLoads, EventQuery, JournalLine, MemoryStore, UsageCount};

    const TIMEOUT: Duration = Duration::from_secs(20);

    fn event(session: usize) -> Event {
        Event::new(EventKind::SkillLoaded, "load_skill", session.to_string(), SystemTime::now())
    }

    fn options(change: impl FnOnce(&mut JournalOptions)) -> JournalOptions {
        let mut options = JournalOptions { retries: vec![Duration::ZERO; 2], ..JournalOptions::default() };
        change(&mut options);
        options
    }

    /// Returns the numbers of the sessions that the store has events of.
    fn sessions(store: &MemoryStore) -> Vec<String> {
        let query = EventQuery { limit: usize::MAX, ..EventQuery::default() };
        let session = |line: &JournalLine| {
            let event: serde_json::Value = serde_json::from_str(&line.json).unwrap();
            event["session"].as_str().unwrap().to_owned()
        };
        store.events(&query).unwrap().iter().map(session).collect()
    }

    /// A journal that reports each append and waits for its result.
    struct ScriptedJournal {
        appended: Mutex<Sender<Vec<String>>>,
        results: Mutex<Receiver<Result<(), ErrorKind>>>,
    }

    impl Journal for ScriptedJournal {
        fn append(&self, events: &[Event]) -> Result<(), Error> {
            self.appended.lock().unwrap().send(events.iter().map(|e| e.session.clone()).collect()).unwrap();
            // Once the test is over, everything goes well.
            self.results.lock().unwrap().recv().unwrap_or(Ok(())).map_err(Error::new)
        }
        fn events(&self, _: &EventQuery) -> Result<Vec<JournalLine>, Error> {
            Ok(Vec::new())
        }
        fn usage(&self, _: Option<SystemTime>) -> Result<Vec<UsageCount>, Error> {
            Ok(Vec::new())
        }
        fn daily_loads(&self, _: SystemTime) -> Result<Vec<DailyLoads>, Error> {
            Ok(Vec::new())
        }
        fn prune(&self, _: Retention, _: SystemTime) -> Result<u64, Error> {
            Ok(0)
        }
    }

    type Script = (JournalSink, Receiver<Vec<String>>, Sender<Result<(), ErrorKind>>);

    fn scripted(options: JournalOptions) -> Script {
        let ((appended, batches), (send, results)) = (channel(), channel());
        let journal = ScriptedJournal { appended: Mutex::new(appended), results: Mutex::new(results) };
        let journal = Arc::new(journal);
        (JournalSink::new(move || Ok(Arc::clone(&journal) as Arc<_>), options), batches, send)
    }

    #[test]
    fn the_journal_sink_passes_the_conformance_suite() {
        let store = Arc::new(MemoryStore::new());
        let journal: Arc<dyn Journal> = store.clone();
        // Events of the suite are from long ago, too.
        let age = Duration::from_secs(100 * 365 * 24 * 60 * 60);
        let sink = JournalSink::new(
            move || Ok(Arc::clone(&journal)),
            options(|options| options.retention.age = age),
        );
        let expect = sink_tests::stand(&sink);
        assert!(sink.flush(TIMEOUT));
        assert_eq!(sink.dropped(), 0);
        let seen = sessions(&store);
        assert_eq!((seen.len(), seen.into_iter().collect()), (expect.len(), expect));
    }

    #[test]
    fn a_sink_without_events_opens_nothing() {
        let sink = JournalSink::new(|| panic!("it was opened"), options(|_| {}));
        assert!(sink.flush(TIMEOUT));
        drop(sink);
    }

    #[test]
    fn events_over_the_limit_of_the_queue_are_dropped_and_counted() {
        let (sink, batches, results) = scripted(options(|options| options.queue = 3));
        sink.record(&event(0));
        assert_eq!(batches.recv_timeout(TIMEOUT).unwrap(), ["0"], "it is being written");
        (1..=5).for_each(|number| sink.record(&event(number)));
        assert_eq!(sink.dropped(), 2);
        assert!(!sink.flush(Duration::ZERO));
        results.send(Ok(())).unwrap();
        assert_eq!(batches.recv_timeout(TIMEOUT).unwrap(), ["1", "2", "3"]);
        results.send(Ok(())).unwrap();
        assert!(sink.flush(TIMEOUT));
        sink.record(&event(6));
        assert_eq!(batches.recv_timeout(TIMEOUT).unwrap(), ["6"], "there is room again");
        drop(results);
    }

    #[test]
    fn a_batch_has_at_most_500_events() {
        let (sink, batches, results) = scripted(options(|_| {}));
        sink.record(&event(0));
        assert_eq!(batches.recv_timeout(TIMEOUT).unwrap().len(), 1);
        (0..1_200).for_each(|number| sink.record(&event(number)));
        drop(results);
        let sizes: Vec<usize> = (0..3).map(|_| batches.recv_timeout(TIMEOUT).unwrap().len()).collect();
        assert_eq!(sizes, [500, 500, 200]);
    }

    /// Returns options with a queue of `queue` events, and what tells the reasons of failures.
    fn telling(queue: usize) -> (JournalOptions, Receiver<ErrorKind>) {
        let (told, reasons) = channel();
        let told = Mutex::new(told);
        let options = options(|options| {
            options.queue = queue;
            options.on_failure = Some(Arc::new(move |error: &Error| {
                told.lock().unwrap().send(error.kind()).unwrap();
            }));
        });
        (options, reasons)
    }

    #[test]
    fn a_batch_that_fails_is_kept_until_the_queue_is_full() {
        let (options, reasons) = telling(2);
        let (sink, batches, results) = scripted(options);
        sink.record(&event(0));
        for _ in 0..20 {
            assert_eq!(batches.recv_timeout(TIMEOUT).unwrap(), ["0"]);
            results.send(Err(ErrorKind::Store)).unwrap();
        }
        assert_eq!(batches.recv_timeout(TIMEOUT).unwrap(), ["0"]);
        assert_eq!(sink.dropped(), 0, "the queue has room");
        (1..=2).for_each(|number| sink.record(&event(number)));
        results.send(Err(ErrorKind::Store)).unwrap();
        assert_eq!(batches.recv_timeout(TIMEOUT).unwrap(), ["1", "2"]);
        assert_eq!(sink.dropped(), 1, "the oldest one made room");
        drop(results);
        assert!(sink.flush(TIMEOUT));
        assert_eq!(sink.dropped(), 1);
        assert_eq!(reasons.try_iter().collect::<Vec<_>>(), [ErrorKind::Store], "the reason is told once");
    }

    #[test]
    fn a_journal_that_cannot_be_opened_at_first_gets_all_events() {
        let store = Arc::new(MemoryStore::new());
        let journal: Arc<dyn Journal> = store.clone();
        let (options, reasons) = telling(10);
        let (back, is_back) = channel();
        let open = move || match is_back.try_recv() {
            Ok(()) => Ok(Arc::clone(&journal)),
            Err(_) => Err(Error::new(ErrorKind::Store)),
        };
        let sink = JournalSink::new(open, options);
        sink.record(&event(0));
        assert_eq!(reasons.recv_timeout(TIMEOUT).unwrap(), ErrorKind::Store);
        sink.record(&event(1));
        back.send(()).unwrap();
        assert!(sink.flush(TIMEOUT));
        assert_eq!((sessions(&store).len(), sink.dropped()), (2, 0));
    }

    #[test]
    fn a_sink_that_is_dropped_gives_up_events_that_cannot_be_written() {
        let (options, reasons) = telling(10);
        let sink = JournalSink::new(|| Err(Error::new(ErrorKind::Store)), options);
        sink.record(&event(0));
        drop(sink);
        assert_eq!(reasons.recv_timeout(TIMEOUT).unwrap(), ErrorKind::Store);
    }

    #[test]
    fn a_sink_that_is_dropped_while_the_journal_does_not_answer_reports_it() {
        let (options, reasons) = telling(10);
        let (sink, batches, _results) = scripted(options);
        sink.record(&event(0));
        batches.recv_timeout(TIMEOUT).unwrap();
        drop(sink);
        assert_eq!(reasons.recv_timeout(TIMEOUT).unwrap(), ErrorKind::Store);
    }

    #[test]
    fn dropping_the_sink_writes_what_is_queued() {
        let store = Arc::new(MemoryStore::new());
        let journal: Arc<dyn Journal> = store.clone();
        let sink = JournalSink::new(move || Ok(Arc::clone(&journal)), options(|_| {}));
        (0..20).for_each(|number| sink.record(&event(number)));
        drop(sink);
        assert_eq!(sessions(&store).len(), 20);
    }

    #[test]
    fn old_events_are_removed() {
        let store = Arc::new(MemoryStore::new());
        let journal: Arc<dyn Journal> = store.clone();
        store.append(&(0..8).map(event).collect::<Vec<_>>()).unwrap();
        let options = options(|options| options.retention.events = 3);
        let sink = JournalSink::new(move || Ok(Arc::clone(&journal)), options);
        sink.record(&event(8));
        // The thread ends after it has removed them, and gives up its handle of the store.
        drop(sink);
        while Arc::strong_count(&store) > 1 {
            std::thread::yield_now();
        }
        assert_eq!(sessions(&store).len(), 3);
    }
}
