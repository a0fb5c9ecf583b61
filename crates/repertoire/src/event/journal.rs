//! The sink that appends events to the journal of a store.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Event, EventSink};
use crate::store::{Journal, Retention};
use crate::{Error, clock};

/// The most events that are appended at once.
const MAX_BATCH: usize = 500;

/// The least time between two removals of old events.
const PRUNE_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The time that a sink waits when it is dropped for the events that are queued.
const DROP_TIME: Duration = Duration::from_secs(2);

/// Called with the reason for which events are dropped.
pub type OnFailure = dyn Fn(&Error) + Send + Sync;

/// The options of a [`JournalSink`].
#[derive(Clone)]
#[non_exhaustive]
pub struct JournalOptions {
    /// The most events that wait to be written; more are dropped and counted.
    pub queue: usize,
    /// The events that the journal keeps.
    pub retention: Retention,
    /// The pauses before the attempts to append events again that could not be appended; the last one is repeated while the queue has room.
    pub retries: Vec<Duration>,
    /// Called with the reason when events cannot be written after these pauses, once.
    pub on_failure: Option<Arc<OnFailure>>,
}

impl Default for JournalOptions {
    /// Returns the defaults: 10,000 queued events; 400 days and 2,000,000 events are kept.
    fn default() -> Self {
        Self {
            queue: 10_000,
            retention: Retention { age: Duration::from_secs(400 * 24 * 60 * 60), events: 2_000_000 },
            retries: [10, 100, 1_000].map(Duration::from_millis).to_vec(),
            on_failure: None,
        }
    }
}

/// Opens the journal.
type Opener = Box<dyn FnMut() -> Result<Arc<dyn Journal>, Error> + Send>;

/// A sink that appends events to a journal, from a thread of its own.
///
/// It is best effort: events that cannot be written are kept while the queue has room; then the oldest are dropped and counted. The
/// journal is opened and the thread started with the first event. A sink that is dropped waits a short time for the events that are queued.
///
/// ```
/// use std::sync::Arc;
/// use std::time::{Duration, SystemTime};
/// use repertoire::event::{Event, EventKind, EventSink, JournalOptions, JournalSink};
/// use repertoire::store::{EventQuery, Journal, MemoryStore};
///
/// let store = Arc::new(MemoryStore::new());
/// let journal: Arc<dyn Journal> = store.clone();
/// let sink = JournalSink::new(move || Ok(journal.clone()), JournalOptions::default());
/// sink.record(&Event::new(EventKind::SkillsListed, "list_skills", "s1", SystemTime::now()));
/// assert!(sink.flush(Duration::from_secs(10)));
/// assert_eq!(store.events(&EventQuery::default())?.len(), 1);
/// # Ok::<(), repertoire::Error>(())
/// ```
pub struct JournalSink {
    shared: Arc<SharedQueue>,
    /// The function that opens the journal, until the thread is started.
    start: Mutex<Option<Opener>>,
    options: JournalOptions,
}

/// The queue that the callers and the thread share.
#[derive(Default)]
struct SharedQueue {
    queue: Mutex<Queue>,
    /// Signalled when there is something to do.
    work: Condvar,
    /// Signalled when everything is done.
    idle: Condvar,
    dropped: AtomicU64,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    /// The number of events that the thread is writing.
    writing: usize,
    /// There will be no more events.
    is_closed: bool,
    /// Events cannot be written, and are dropped.
    is_broken: bool,
}

impl Queue {
    fn is_idle(&self) -> bool {
        self.events.is_empty() && self.writing == 0
    }
}

impl SharedQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_events(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Waits for events and takes a batch of them; none when the queue is closed and empty.
    fn take(&self) -> Option<Vec<Event>> {
        let mut queue = self.lock();
        while queue.events.is_empty() {
            if queue.is_closed {
                return None;
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let count = queue.events.len().min(MAX_BATCH);
        queue.writing = count;
        Some(queue.events.drain(..count).collect())
    }

    /// Notes that the batch is written or dropped.
    fn done(&self) {
        let mut queue = self.lock();
        queue.writing = 0;
        if queue.is_idle() {
            self.idle.notify_all();
        }
    }

    /// Pauses for `time`, or until the queue is closed; returns whether it is.
    fn pause(&self, time: Duration) -> bool {
        let queue = self.lock();
        let paused = self.work.wait_timeout_while(queue, time, |queue| !queue.is_closed);
        paused.unwrap_or_else(PoisonError::into_inner).0.is_closed
    }

    /// Drops the queued events and all that follow.
    fn give_up(&self) {
        let mut queue = self.lock();
        queue.is_broken = true;
        self.drop_events(queue.events.len() + queue.writing);
        queue.events.clear();
        queue.writing = 0;
        self.idle.notify_all();
    }
}

impl JournalSink {
    /// Returns a sink that appends to the journal that `open` returns, which is called with the first event, on another thread, and again
    /// if it fails.
    pub fn new(
        open: impl FnMut() -> Result<Arc<dyn Journal>, Error> + Send + 'static,
        options: JournalOptions,
    ) -> Self {
        Self { shared: Arc::default(), start: Mutex::new(Some(Box::new(open))), options }
    }

    /// Returns the number of events that were dropped.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all events so far are written or dropped, or until `timeout`; returns whether they are.
    pub fn flush(&self, timeout: Duration) -> bool {
        let queue = self.shared.lock();
        let waited = self.shared.idle.wait_timeout_while(queue, timeout, |queue| !queue.is_idle());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_idle()
    }

    /// Starts the thread, unless it was started before.
    fn start(&self) {
        let Some(open) = self.start.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let mut writer = Writer {
            shared: Arc::clone(&self.shared),
            options: self.options.clone(),
            open,
            journal: None,
            is_told: false,
        };
        let started = std::thread::Builder::new().name("journal".to_owned()).spawn(move || writer.run());
        if started.is_err() {
            self.shared.give_up();
        }
    }
}

impl EventSink for JournalSink {
    fn record(&self, event: &Event) {
        let mut queue = self.shared.lock();
        if queue.is_broken || queue.events.len() >= self.options.queue {
            drop(queue);
            self.shared.drop_events(1);
            return;
        }
        queue.events.push_back(event.clone());
        let is_first = queue.events.len() == 1;
        drop(queue);
        // A thread that has more to do looks again by itself.
        if is_first {
            self.start();
            self.shared.work.notify_all();
        }
    }
}

impl Drop for JournalSink {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.work.notify_all();
        self.flush(DROP_TIME);
    }
}

impl fmt::Debug for JournalSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalSink").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

/// The thread of a sink.
struct Writer {
    shared: Arc<SharedQueue>,
    options: JournalOptions,
    open: Opener,
    /// The journal, once it is open.
    journal: Option<Arc<dyn Journal>>,
    /// The callback was called.
    is_told: bool,
}

impl Writer {
    fn run(&mut self) {
        let mut pruned: Option<Instant> = None;
        while let Some(events) = self.shared.take() {
            if let Err(error) = self.append(&events) {
                self.shared.drop_events(events.len());
                self.tell(&error);
            }
            self.shared.done();
            if let Some(journal) = &self.journal
                && pruned.is_none_or(|pruned| pruned.elapsed() >= PRUNE_INTERVAL)
            {
                pruned = Some(Instant::now());
                // The journal is only larger than it should be; the next attempt is in an hour.
                let _ = journal.prune(self.options.retention, clock::now());
            }
        }
    }

    /// Appends `events`, after pauses again if that fails, until the queue is full; once the sink is dropped, without more pauses.
    fn append(&mut self, events: &[Event]) -> Result<(), Error> {
        let mut attempts = 0;
        loop {
            let Err(error) = self.try_append(events) else { return Ok(()) };
            let Some(last) = self.options.retries.len().checked_sub(1) else { return Err(error) };
            if attempts > last {
                self.tell(&error);
            }
            if self.shared.lock().events.len() >= self.options.queue {
                return Err(error);
            }
            if self.shared.pause(self.options.retries[attempts.min(last)]) {
                return self.try_append(events);
            }
            attempts += 1;
        }
    }

    fn try_append(&mut self, events: &[Event]) -> Result<(), Error> {
        let journal = match &self.journal {
            Some(journal) => journal,
            None => self.journal.insert((self.open)()?),
        };
        journal.append(events)
    }

    fn tell(&mut self, error: &Error) {
        if let Some(on_failure) = &self.options.on_failure
            && !std::mem::replace(&mut self.is_told, true)
        {
            on_failure(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::SystemTime;

    use super::super::{EventKind, conformance};
    use super::*;
    use crate::ErrorKind;
    use crate::store::{DailyLoads, EventQuery, JournalLine, MemoryStore, Usage};

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
        fn usage(&self, _: Option<SystemTime>) -> Result<Vec<Usage>, Error> {
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
        let expect = conformance::stand(&sink);
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
        let (opened, open) = channel();
        let options = options(|options| options.retention.events = 3);
        let sink = JournalSink::new(
            move || {
                open.recv().unwrap();
                Ok(Arc::clone(&journal))
            },
            options,
        );
        (0..8).for_each(|number| sink.record(&event(number)));
        opened.send(()).unwrap();
        assert!(sink.flush(TIMEOUT));
        // The thread ends after it has removed them, and gives up its handle of the store.
        drop(sink);
        while Arc::strong_count(&store) > 1 {
            std::thread::yield_now();
        }
        assert_eq!(sessions(&store).len(), 3);
    }
}
