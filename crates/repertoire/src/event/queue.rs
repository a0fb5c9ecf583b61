//! The queue of a sink that writes events from a thread of its own.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Event;
use crate::Error;

/// The most events that are written at once.
const MAX_BATCH: usize = 500;

/// The time that a queue waits when it is dropped for the events in it.
const DROP_TIME: Duration = Duration::from_secs(2);

/// Called with the reason for which events are dropped.
pub type OnFailure = dyn Fn(&Error) + Send + Sync;

/// A destination of batches of events.
pub(super) trait BatchWriter {
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
type Opener = Box<dyn Fn() -> Result<Box<dyn BatchWriter>, Error> + Send>;

/// The options of an [`EventQueue`].
#[derive(Clone)]
pub(super) struct QueueOptions {
    /// The name of the thread.
    pub(super) name: &'static str,
    /// The most events that wait to be written; more are dropped and counted.
    pub(super) limit: usize,
    /// The pauses before the attempts to write a batch again.
    pub(super) retries: Vec<Duration>,
    /// Called with the reason when events are dropped because they cannot be written, once.
    pub(super) on_failure: Option<Arc<OnFailure>>,
}

/// A bounded queue of events, and the thread that writes them in batches.
///
/// The destination is opened and the thread started with the first event. If it cannot be opened, the next batch tries again.
pub(super) struct EventQueue {
    shared: Arc<SharedQueue>,
    /// The function that opens the destination, until the thread is started.
    start: Mutex<Option<Opener>>,
    options: QueueOptions,
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

impl EventQueue {
    /// Returns a queue whose events go where `open` says.
    pub(super) fn new(
        open: impl Fn() -> Result<Box<dyn BatchWriter>, Error> + Send + 'static,
        options: QueueOptions,
    ) -> Self {
        Self { shared: Arc::default(), start: Mutex::new(Some(Box::new(open))), options }
    }

    /// Returns the number of events that were dropped.
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
        let worker = Worker {
            shared: Arc::clone(&self.shared),
            options: self.options.clone(),
            is_told: AtomicBool::new(false),
        };
        let name = self.options.name.to_owned();
        let started = std::thread::Builder::new().name(name).spawn(move || worker.run(open));
        if started.is_err() {
            self.shared.give_up();
        }
    }
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.work.notify_all();
        self.flush(DROP_TIME);
    }
}

/// The thread of a queue.
struct Worker {
    shared: Arc<SharedQueue>,
    options: QueueOptions,
    /// The callback was called.
    is_told: AtomicBool,
}

impl Worker {
    fn run(&self, open: Opener) {
        // More events may come for the first batch meanwhile.
        let mut writer = open().inspect_err(|error| self.tell(error)).ok();
        while let Some(events) = self.shared.take() {
            let written = match &mut writer {
                Some(writer) => self.write(&mut **writer, &events),
                None => open().and_then(|opened| self.write(&mut **writer.insert(opened), &events)),
            };
            if let Err(error) = written {
                self.shared.drop_events(events.len());
                self.tell(&error);
            }
            self.shared.done();
            if let Some(writer) = &mut writer {
                writer.after_batch();
            }
        }
    }

    /// Writes `events`, after a pause again if that fails; once the queue is dropped, without more pauses.
    fn write(&self, writer: &mut dyn BatchWriter, events: &[Event]) -> Result<(), Error> {
        let mut failed = match writer.write(events) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        for pause in &self.options.retries {
            if !writer.is_transient(&failed) {
                break;
            }
            let is_last = self.shared.pause(*pause);
            match writer.write(events) {
                Ok(()) => return Ok(()),
                Err(error) => failed = error,
            }
            if is_last {
                break;
            }
        }
        Err(failed)
    }

    fn tell(&self, error: &Error) {
        if let Some(on_failure) = &self.options.on_failure
            && !self.is_told.swap(true, Ordering::Relaxed)
        {
            on_failure(error);
        }
    }
}
