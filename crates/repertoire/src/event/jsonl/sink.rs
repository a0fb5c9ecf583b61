//! The sink that appends to `events.jsonl`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::super::{Event, EventSink};
use super::line::line;

/// The size at which the file is moved aside by default, in bytes.
pub const DEFAULT_MAX_BYTES: u64 = 10 * 1_024 * 1_024;

/// The number of full files that are kept by default.
pub const DEFAULT_KEEP: usize = 4;

/// The name of the file that is locked while files are moved aside.
const LOCK: &str = "events.lock";

/// The directory of the event files, and how much of them is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonlOptions {
    /// The directory of the files; it is made with the first event.
    pub directory: PathBuf,
    /// The size at which the file is moved aside, in bytes. A single event may be larger.
    pub max_bytes: u64,
    /// The number of rotated files that are kept, at least 1.
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
/// A full file becomes `events.1.jsonl`, that one `events.2.jsonl`, and so on. Events are dropped if the directory cannot
/// be written, or if there is anything but a regular file at the path.
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
}

impl JsonlSink {
    /// Returns the sink. Nothing is touched before the first event.
    pub fn new(options: JsonlOptions) -> Self {
        let path = options.directory.join("events.jsonl");
        Self { options, path }
    }

    /// Returns the path of the file that events are appended to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn append(&self, event: &Event) -> io::Result<()> {
        // The newline in front ends a torn line.
        let line = format!("\n{}\n", line(event)?);
        let mut file = open_log(&self.path)?;
        if self.is_full(file.metadata()?.len(), line.len()) {
            // If files cannot be moved, events are worth more than the limit.
            let _ = self.rotate(line.len());
            file = open_log(&self.path)?;
        }
        let start = usize::from(!ends_within_a_line(&mut file));
        loop {
            // The rest of an incomplete write is not written after it: another process's line may stand there by now.
            match file.write(&line.as_bytes()[start..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome.map(drop),
            }
        }
    }

    fn is_full(&self, size: u64, more: usize) -> bool {
        size > 0 && size.saturating_add(more as u64) > self.options.max_bytes
    }

    /// Moves the full file aside, unless another writer is doing so or has done so already.
    fn rotate(&self, more: usize) -> io::Result<()> {
        // If the process dies, the lock ends with it.
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
        // An earlier configuration may have kept more.
        for number in keep + 1.. {
            if fs::remove_file(self.numbered(number)).is_err() {
                break;
            }
        }
        // Files before a gap move up into it.
        let free =
            (1..keep).find(|number| fs::symlink_metadata(self.numbered(*number)).is_err()).unwrap_or(keep);
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
        // Writing is best effort.
        let _ = self.append(event);
    }
}

/// Opens the file at `path` for appending, and creates it and its directory if they do not exist.
fn open_log(path: &Path) -> io::Result<File> {
    match open_regular(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_directory(path.parent().unwrap_or(path))?;
            open_regular(path)
        }
        outcome => outcome,
    }
}

/// Opens the regular file at `path` for appending, and creates it if there is nothing.
///
/// Anything else is refused without opening it: a pipe would block, opening a device may have effects, and a link would let
/// anyone who may write to the directory choose a file of its owner's.
fn open_regular(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(not_regular());
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    guard(&mut options);
    let file = options.open(path)?;
    // The handle is checked as well, since another file may have taken its place in between.
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

#[cfg(unix)]
fn guard(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
}

#[cfg(windows)]
fn guard(options: &mut OpenOptions) {
    use std::os::windows::fs::OpenOptionsExt as _;

    /// `FILE_FLAG_OPEN_REPARSE_POINT`: a link is opened itself, and is no regular file then.
    const OPEN_LINK: u32 = 0x0020_0000;
    options.custom_flags(OPEN_LINK);
}

#[cfg(not(any(unix, windows)))]
fn guard(_options: &mut OpenOptions) {}

/// Creates `directory` and those above it, for its owner alone: events may be private.
fn create_directory(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Returns `true` if the last line of `file` is incomplete: a disk was full, or a process ended while it
/// wrote.
fn ends_within_a_line(file: &mut File) -> bool {
    let mut last = [b'\n'];
    // An empty or unreadable file is taken to be whole.
    file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).is_ok() && last != [b'\n']
}
