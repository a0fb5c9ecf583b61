//! The sink that appends to `events.jsonl`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::super::{Event, EventSink};
use super::line::write_line;
use super::log_file::{LogFile, open_regular};

/// The bytes at which the file is moved aside unless something else is asked for.
pub const DEFAULT_MAX_BYTES: u64 = 10 * 1_024 * 1_024;

/// How many full files are kept unless something else is asked for.
pub const DEFAULT_KEEP: usize = 4;

/// The name of the file that whoever moves files aside has locked.
const LOCK: &str = "events.lock";

/// Where events are written, and how much of them is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonlOptions {
    /// The directory of the files; it is made with the first event.
    pub directory: PathBuf,
    /// The bytes at which the file is moved aside. A single event may be larger.
    pub max_bytes: u64,
    /// How many full files are kept, at least 1.
    pub keep: usize,
}

impl JsonlOptions {
    /// Returns the defaults for `directory`: five files of 10 MiB in all.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), max_bytes: DEFAULT_MAX_BYTES, keep: DEFAULT_KEEP }
    }
}

/// A sink that appends one JSON object to a line to `events.jsonl`.
///
/// A full file becomes `events.1.jsonl`, that one `events.2.jsonl`, and so on. A directory that cannot be written,
/// and anything but a regular file in its place, leaves events unwritten and nobody disturbed.
///
/// ```no_run
/// use std::sync::Arc;
/// use repertoire::event::{JsonlOptions, JsonlSink, Sinks};
///
/// let sink = JsonlSink::new(JsonlOptions::new("/var/lib/agent/skills"));
/// let sinks = Sinks::new().with(Arc::new(sink));
/// ```
#[derive(Debug)]
pub struct JsonlSink {
    options: JsonlOptions,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The event as it is written, after the newline that ends a torn line before it.
    line: Vec<u8>,
    log: Option<LogFile>,
}

impl JsonlSink {
    /// Returns the sink. Nothing is touched before the first event.
    pub fn new(options: JsonlOptions) -> Self {
        let path = options.directory.join("events.jsonl");
        Self { options, path, state: Mutex::default() }
    }

    /// Returns the path of the file that events are appended to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn append(&self, State { line, log }: &mut State) -> io::Result<()> {
        let size = log.as_ref().and_then(|log| log.size_at(&self.path));
        let (mut current, size) = match (log.take(), size) {
            (Some(current), Some(size)) => (current, size),
            // It was never opened, or was moved aside, deleted or replaced since.
            _ => {
                let opened = LogFile::open(&self.path)?;
                let size = opened.size_when_opened();
                (opened, size)
            }
        };
        if self.is_full(size, line.len()) {
            // Where files cannot be moved, events are worth more than the limit.
            let _ = self.rotate(line.len());
            if current.size_at(&self.path).is_none() {
                current = LogFile::open(&self.path)?;
            }
        }
        log.insert(current).append(line)
    }

    fn is_full(&self, size: u64, more: usize) -> bool {
        size > 0 && size.saturating_add(more as u64) > self.options.max_bytes
    }

    /// Moves the full file aside, unless somebody else does so right now or has done so already.
    fn rotate(&self, more: usize) -> io::Result<()> {
        // Where the process dies the lock ends with it.
        let lock = open_regular(&self.options.directory.join(LOCK))?;
        if lock.try_lock().is_err() {
            return Ok(());
        }
        let outcome = self.move_aside(more);
        // A process that is just being started may share the handle for a moment, and with it the lock.
        let _ = lock.unlock();
        outcome
    }

    /// Moves the file aside, if it is full, and the full ones up.
    fn move_aside(&self, more: usize) -> io::Result<()> {
        let metadata = fs::symlink_metadata(&self.path)?;
        if !metadata.is_file() || !self.is_full(metadata.len(), more) {
            return Ok(());
        }
        let keep = self.options.keep.max(1);
        // Once more were kept.
        for number in keep + 1.. {
            if fs::remove_file(self.numbered(number)).is_err() {
                break;
            }
        }
        // Those before a gap move up into it; others wait for the lock, so no more are touched than there are.
        let is_free = |number: &usize| fs::symlink_metadata(self.numbered(*number)).is_err();
        let free = (1..keep).find(is_free).unwrap_or(keep);
        for number in (1..free).rev() {
            let _ = fs::rename(self.numbered(number), self.numbered(number + 1));
        }
        fs::rename(&self.path, self.numbered(1))
    }

    fn numbered(&self, number: usize) -> PathBuf {
        self.options.directory.join(format!("events.{number}.jsonl"))
    }
}

impl EventSink for JsonlSink {
    fn record(&self, event: &Event) {
        // Whatever panicked with it in hand, the next event starts the line anew and looks at the file again.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.line.clear();
        state.line.push(b'\n');
        write_line(&mut state.line, event);
        // By contract nobody wants to know.
        let _ = self.append(&mut state);
    }
}
