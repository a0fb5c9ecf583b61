//! Checks that events can be written.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use repertoire::event::JsonlSink;

use super::checks::{Checks, Status, bytes, probe};
use crate::wire::Context;

impl Checks {
    pub(super) fn events(&mut self, context: &Context) {
        let Some(options) = context.events() else {
            let why =
                if context.settings.events_jsonl { "nowhere: there is no state directory" } else { "off" };
            return self.ok("events", why);
        };
        let sink = JsonlSink::new(options);
        let shown = sink.path().display();
        match writable(sink.path()) {
            Ok(Some(size)) => self.ok("events", format!("{shown}, {}", bytes(size))),
            Ok(None) => self.ok("events", format!("{shown}, none yet")),
            Err(error) => self.add(
                Status::Warn,
                "events",
                format!("{shown} cannot be written: {error}"),
                Some("set REPERTOIRE_STATE_DIR, or `events.jsonl = false` in your user configuration"),
            ),
        }
    }
}

/// Returns the bytes of the file at `path`, if it is there and can be written, and leaves everything as it is.
fn writable(path: &Path) -> io::Result<Option<u64>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            OpenOptions::new().append(true).open(path)?;
            Ok(Some(metadata.len()))
        }
        Ok(_) => Err(io::Error::other("it is not a regular file")),
        // Only the first event makes the directory, so what counts is the nearest one that is there.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let there = path.ancestors().skip(1).find(|above| above.is_dir());
            there.map_or(Err(error), |directory| probe(directory).map(|()| None))
        }
        Err(error) => Err(error),
    }
}
