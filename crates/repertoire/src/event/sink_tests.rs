//! The conformance suite of event sinks.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use repertoire_model::bundle::Digest;

use super::{Event, EventKind, EventSink, Outcome};

/// The number of concurrent writers, and of rounds of each.
const THREADS: usize = 4;
const ROUNDS: usize = 2;

/// Texts that skills and agents may bring along.
const HOSTILE: [&str; 5] = ["", "\"}\n{\"", "\0\u{1b}[2J\u{2028}\u{202e}", "a/b:c", "\u{10ffff}é表"];

/// Hands `sink` events of every kind with everything in them, from several threads at once. Returns the
/// sessions of all of them, none of which is there twice.
pub(crate) fn stand(sink: &dyn EventSink) -> BTreeSet<String> {
    let sessions = |thread: usize| {
        let kinds = EventKind::ALL.into_iter().flat_map(|kind| Outcome::ALL.map(|outcome| (kind, outcome)));
        let all = (0..ROUNDS).flat_map(move |round| kinds.clone().map(move |pair| (round, pair)));
        all.map(move |(round, (kind, outcome))| (format!("{thread}-{round}-{kind}-{outcome}"), kind, outcome))
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for (index, (session, kind, outcome)) in sessions(thread).enumerate() {
                    sink.record(&event(index, session, kind, outcome));
                }
            });
        }
    });
    (0..THREADS).flat_map(sessions).map(|(session, ..)| session).collect()
}

fn event(index: usize, session: String, kind: EventKind, outcome: Outcome) -> Event {
    let text = HOSTILE[index % HOSTILE.len()].repeat(if index.is_multiple_of(7) { 2_000 } else { 1 });
    let time = match index % 3 {
        0 => SystemTime::UNIX_EPOCH - Duration::from_secs(1),
        1 => SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(u32::MAX) * 100),
        _ => SystemTime::now(),
    };
    Event {
        skill: Some(text.clone()),
        file: Some(text.clone()),
        source: Some(text.clone()),
        agent: Some(text.clone()),
        outcome,
        bytes: u64::MAX,
        tokens: u64::MAX,
        duration: Duration::MAX,
        digest: Some(Digest::of(text.as_bytes())),
        error: Some(text.clone()),
        principal: Some(text.clone()),
        ..Event::new(kind, text, session, time)
    }
}
