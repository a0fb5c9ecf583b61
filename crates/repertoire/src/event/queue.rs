//! The queue of a sink that writes events from a thread of its own.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Event;
use crate::{Error, ErrorKind};

/// The most events that are written at once.
const MAX_BATCH: usize = 500;

/// The time that a queue waits when it is dropped for the events in it.
const DROP_TIME: Duration = Duration::from_secs(2);

/// Called with the reason for which events are dropped.
pub type OnFailure = dyn Fn(&Error) + Send + Sync;

/// A destination of batches of events.
pub(super) trait BatchWriter: Send {
    /// Writes `events`, all or none of them.
    fn write(&mut self, events: &[Event]) -> Result<(), Error>;

    /// Returns `true` if writing again may succeed after `error`.
    fn is_transient(&self, _error: &Error) -> bool {
        true
    }

    /// Called after each batch.
    fn after_batch(&mut self) {}
}

/// Opens the destination, on the thread.
type Opener = Box<dyn FnMut() -> Result<Box<dyn BatchWriter>, Error> + Send>;

#[derive(Clone)]
pub(super) struct QueueOptions {
    pub(super) name: &'static str,
    /// The most events that wait to be written; more are dropped and counted.
    pub(super) limit: usize,
    /// The pauses before a batch is written again; the last one is repeated while the queue has room.
    pub(super) retries: Vec<Duration>,
    /// Called with the reason when events cannot be written after these pauses, once.
    pub(super) on_failure: Option<Arc<OnFailure>>,
}

/// A bounded queue of events, and the thread that writes them in batches.
///
/// The first event opens the destination and starts the thread. If opening fails, the next batch tries again.
pub(super) struct EventQueue {
    shared: Arc<SharedQueue>,
    /// The function that opens the destination, until the thread is started.
    start: Mutex<Option<Opener>>,
    options: QueueOptions,
}

/// The queue that the callers and the thread share.
#[derive(Default)]
struct SharedQueue {
    queue: Mutex<QueueState>,
    /// Signalled when there is something to do.
    work: Condvar,
    /// Signalled when everything is done.
    idle: Condvar,
    dropped: AtomicU64,
    /// The callback was called.
    is_told: AtomicBool,
}

#[derive(Default)]
struct QueueState {
    events: VecDeque<Event>,
    /// The number of events that the thread is writing.
    writing: usize,
    /// There will be no more events.
    is_closed: bool,
    /// Events cannot be written, and are dropped.
    is_broken: bool,
}

impl QueueState {
    fn is_idle(&self) -> bool {
        self.events.is_empty() && self.writing == 0
    }
}

impl SharedQueue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_events(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Calls the callback, once.
    fn tell(&self, options: &QueueOptions, error: &Error) {
        if let Some(on_failure) = &options.on_failure
            && !self.is_told.swap(true, Ordering::Relaxed)
        {
            on_failure(error);
        }
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

impl EventQueue {
    /// Returns a queue whose events go where `open` says.
    pub(super) fn new(
        open: impl FnMut() -> Result<Box<dyn BatchWriter>, Error> + Send + 'static,
        options: QueueOptions,
    ) -> Self {
        Self { shared: Arc::default(), start: Mutex::new(Some(Box::new(open))), options }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all events so far are written or dropped, or until `timeout`; returns whether they are.
    pub(super) fn flush(&self, timeout: Duration) -> bool {
        let queue = self.shared.lock();
        let waited = self.shared.idle.wait_timeout_while(queue, timeout, |queue| !queue.is_idle());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_idle()
    }

    /// Adds `event`, or drops and counts it.
    pub(super) fn push(&self, event: &Event) {
        let mut queue = self.shared.lock();
        if queue.is_broken || queue.events.len() >= self.options.limit {
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

    /// Starts the thread, unless it was started before.
    fn start(&self) {
        let Some(open) = self.start.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let mut worker =
            Worker { shared: Arc::clone(&self.shared), options: self.options.clone(), open, writer: None };
        let name = self.options.name.to_owned();
        let started = std::thread::Builder::new().name(name).spawn(move || worker.run());
        if started.is_err() {
            self.shared.give_up();
        }
    }
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.work.notify_all();
        if !self.flush(DROP_TIME) {
            // The process may end before the thread does.
            self.shared.tell(&self.options, &Error::new(ErrorKind::Store).because("it does not answer"));
        }
    }
}

struct Worker {
    shared: Arc<SharedQueue>,
    options: QueueOptions,
    open: Opener,
    /// The destination, once it is open.
    writer: Option<Box<dyn BatchWriter>>,
}

impl Worker {
    fn run(&mut self) {
        while let Some(events) = self.shared.take() {
            if let Err(error) = self.write(&events) {
                self.shared.drop_events(events.len());
                self.tell(&error);
            }
            self.shared.done();
            if let Some(writer) = &mut self.writer {
                writer.after_batch();
            }
        }
    }

    /// Writes `events`, again after pauses on failure, until the queue is full; without pauses once closed.
    fn write(&mut self, events: &[Event]) -> Result<(), Error> {
        let mut attempts = 0;
        loop {
            let Err(error) = self.try_write(events) else { return Ok(()) };
            let is_transient = self.writer.as_ref().is_none_or(|writer| writer.is_transient(&error));
            let last = match self.options.retries.len().checked_sub(1) {
                Some(last) if is_transient => last,
                _ => return Err(error),
            };
            if attempts > last {
                self.tell(&error);
            }
            if self.shared.lock().events.len() >= self.options.limit {
                return Err(error);
            }
            if self.shared.pause(self.options.retries[attempts.min(last)]) {
                return self.try_write(events);
            }
            attempts += 1;
        }
    }

    fn try_write(&mut self, events: &[Event]) -> Result<(), Error> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert((self.open)()?),
        };
        writer.write(events)
    }

    fn tell(&self, error: &Error) {
        self.shared.tell(&self.options, error);
    }
}
