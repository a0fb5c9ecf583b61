//! Measures the cost of an event for its call.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use repertoire::event::{Event, EventKind, JsonlOptions, JsonlSink, Sinks};
use repertoire::model::Digest;

pub fn measure(directory: &Path, calls: usize) {
    let sink = JsonlSink::new(JsonlOptions::new(directory));
    let path = sink.path().to_owned();
    let sinks = Sinks::new().with(Arc::new(sink));
    let digest = Digest::of(b"a skill");
    stopwatch::measure_calls("record", 0..calls, |number| sinks.emit(&event(number, digest)));
    // A sink that writes nothing would be fast.
    assert!(std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0), "no events were written");
}

/// Returns an event as a session would make it, its clock included.
fn event(number: usize, digest: Digest) -> Event {
    let mut event = Event::new(EventKind::SkillLoaded, "load_skill", "0f8fad5b-d9cb-469f", SystemTime::now());
    event.skill = Some("reconcile-monthly-ledger-00042".to_owned());
    event.source = Some("project:.agents/skills".to_owned());
    event.agent = Some("reviewer".to_owned());
    event.bytes = 2_900 + number as u64 % 100;
    event.tokens = 700;
    event.duration = Duration::from_micros(40);
    event.digest = Some(digest);
    event
}
