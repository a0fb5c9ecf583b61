//! Events in a file, one JSON object to a line.
//!
//! Several processes may write to one directory at once. Each event is one append of one whole line, so lines never
//! mix. Who finds the file full moves it aside under a lock; everybody else notices at its next event, because the
//! path no longer leads to the file it has open. A writer that looked just before the move still writes to the file
//! it saw, which is `events.1.jsonl` by then: nothing is lost and nothing is written twice. No writer ever waits for
//! another process.

mod timestamp;
pub(crate) mod line;
mod log_file;
mod sink;
#[cfg(all(test, unix))]
mod tests;

pub use line::{MAX_ERROR_BYTES, MAX_NAME_BYTES, MAX_PATH_BYTES};
pub use sink::{DEFAULT_KEEP, DEFAULT_MAX_BYTES, JsonlOptions, JsonlSink};
pub use timestamp::rfc3339;
