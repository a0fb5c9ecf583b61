//! Events in a file, one JSON object per line.
//!
//! Several processes may write to one directory at once. Each event opens the file and appends one whole line in one write,
//! so lines never mix. A writer that finds the file full renames it under a lock; writers that hold the old file open
//! finish their line in `events.1.jsonl`, so nothing is lost or written twice. No writer waits for another.

mod line;
mod sink;
#[cfg(all(test, unix))]
mod tests;

#[cfg(feature = "otel")]
pub(super) use line::bounded;
pub use line::{MAX_ERROR_BYTES, MAX_NAME_BYTES, MAX_PATH_BYTES, line, rfc3339};
pub use sink::{DEFAULT_KEEP, DEFAULT_MAX_BYTES, JsonlOptions, JsonlSink};
