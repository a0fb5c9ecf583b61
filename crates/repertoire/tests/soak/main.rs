//! A library that changes at random while many sessions use it.
//!
//! Every version of a file names itself and carries a checksum, so that an answer can be verified to be one
//! whole version; the reader knows which versions were on disk from the beginning of the call to its end.
//! Undetectable states are left out: instructions that are cut in the middle while they are written in place
//! are valid, only shorter.
//!
//! `REPERTOIRE_SOAK_SECONDS` sets the duration (default 30 s), `REPERTOIRE_SOAK_SEED` the seed; failures are
//! reported with their seed. The scheduling of threads is random, so the seed repeats the actions but not
//! their times.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it changes the files of skills itself, and tells what it did"
)]
#![cfg(unix)]

mod history;
mod mark;
#[path = "../permissions/mod.rs"]
mod permissions;
mod random;
mod reader;
mod writer;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use repertoire::{FsOptions, FsProvider, Library, Policy, Registry, ReloadOptions};

use self::history::Histories;
use self::random::Random;
use self::reader::{Reader, Tally};
use self::writer::Writer;

const SKILLS: usize = 40;
const WRITERS: usize = 2;
const SESSIONS: usize = 32;
const DEADLINE: Duration = Duration::from_secs(30);

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn open(root: &Path) -> Registry {
    let provider = Arc::new(FsProvider::new(FsOptions::new("soak", root)));
    pollster::block_on(Registry::open(vec![provider], Policy::default())).unwrap()
}

#[test]
fn every_answer_is_one_whole_version_and_nothing_is_missed_or_leaked() {
    let seconds = setting("REPERTOIRE_SOAK_SECONDS").unwrap_or(30);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = setting("REPERTOIRE_SOAK_SEED").unwrap_or(now.as_secs());
    permissions::obey_permissions();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("skills");
    let histories = Arc::new(Histories::new(SKILLS));
    let mut writers: Vec<Writer> = (0..WRITERS)
        .map(|index| Writer::new(directory.path(), &histories, index, WRITERS, Random::new(seed, index)))
        .collect();
    let registry = open(&root);
    let watcher = registry.watch(ReloadOptions::default()).unwrap();
    assert!(watcher.wait_ready(DEADLINE));

    // A part of the time is for one-time costs: threads, buffers, cached texts.
    let warm_up = Duration::from_secs(seconds) / 5;
    let mut tally = Tally::default();
    writers = soak(&registry, &histories, writers, warm_up, seed, &mut tally);
    let before = (descriptors(), resident_kb());
    tally.is_sound(seed, &histories);
    writers =
        soak(&registry, &histories, writers, Duration::from_secs(seconds) - warm_up, seed + 1, &mut tally);
    let after = (descriptors(), resident_kb());
    let changes: usize = writers.iter().map(|writer| writer.made).sum();
    eprintln!(
        "soak: seed {seed}, {seconds} s, {changes} changes, {tally}, {} snapshots, descriptors {} -> {}, resident {} -> {} kB",
        registry.snapshot().number(),
        before.0,
        after.0,
        before.1,
        after.1
    );
    tally.is_sound(seed, &histories);
    assert!(after.0 <= before.0 + 4, "seed {seed}: {} descriptors, {} before", after.0, before.0);
    let most = before.1 + before.1 / 2 + 32 * 1024;
    assert!(after.1 <= most, "seed {seed}: {} kB resident, {} before", after.1, before.1);

    writers.iter_mut().for_each(Writer::mend);
    // The watcher alone has to notice every change, long before it reloads without an event.
    let (fresh, end) = (account(&open(&root)), Instant::now() + DEADLINE);
    while account(&registry) != fresh && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(account(&registry), fresh, "seed {seed}: a change was missed");
}

/// Runs `writers` that change the library and sessions that use it for `duration`.
fn soak(
    registry: &Registry,
    histories: &Arc<Histories>,
    writers: Vec<Writer>,
    duration: Duration,
    seed: u64,
    tally: &mut Tally,
) -> Vec<Writer> {
    let is_over = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let is_over = &is_over;
        let writing: Vec<_> = writers
            .into_iter()
            .map(|mut writer| {
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        writer.change();
                    }
                    writer
                })
            })
            .collect();
        let reading: Vec<_> = (0..SESSIONS)
            .map(|index| {
                let mut reader = Reader::new(
                    &Library::from(registry.clone()),
                    histories,
                    Random::new(seed, WRITERS + index),
                );
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) && !reader.tally.has_failed() {
                        reader.call();
                    }
                    reader.tally
                })
            })
            .collect();
        let end = Instant::now() + duration;
        while Instant::now() < end && !reading.iter().any(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(20));
        }
        is_over.store(true, Ordering::Relaxed);
        reading.into_iter().for_each(|reader| tally.add(reader.join().unwrap()));
        writing.into_iter().map(|writer| writer.join().unwrap()).collect()
    })
}

/// Returns the full state of every skill of a library.
fn account(registry: &Registry) -> Vec<String> {
    let snapshot = registry.snapshot();
    let problems = snapshot.problems().iter().map(|problem| format!("{problem:?}"));
    let skills = snapshot.entries().iter().map(|entry| {
        let found: Vec<&str> = entry.diagnostics().map(|found| found.message.as_str()).collect();
        let digest = pollster::block_on(registry.digest(entry)).map_err(|error| error.to_string());
        let body = pollster::block_on(registry.get(entry)).map(|skill| skill.body().to_owned());
        let (state, description) = (entry.state, &entry.document.description);
        format!(
            "{} {state:?} {} {description:?} {found:?} {digest:?} {:?}",
            entry.name(),
            entry.location(),
            body.ok()
        )
    });
    skills.chain(problems).collect()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Returns the resident memory of this process, if the system reports it.
fn resident_kb() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}
