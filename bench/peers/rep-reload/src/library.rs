//! A library followed inside this process.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use repertoire::registry::Aspect;
use repertoire::registry::watch::FollowMethod;
use repertoire::{FsOptions, FsProvider, Lookup, Policy, Registry, ReloadOptions, Snapshot, Subscription};

use crate::change::{Change, Changes, Kind};
use crate::{print_gauge, process};

/// A large library takes a while until all of it is watched.
const READY: Duration = Duration::from_secs(120);
/// Longer than any poll waits; what takes longer is broken.
const DEADLINE: Duration = Duration::from_secs(300);
/// The limit of time for changes that each wait for a poll.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two changes, so that each is a batch of its own, and before the fixed work.
const PAUSE: Duration = Duration::from_millis(20);
/// The duration of the fixed work on an idle machine, about as long as one change.
const FIXED_WORK: Duration = Duration::from_micros(1_500);

pub fn measure(library: &Path, count: usize, seconds: usize, watches: usize) {
    let provider = Arc::new(FsProvider::new(FsOptions::new("library", library)));
    let registry = pollster::block_on(Registry::open(vec![provider], Policy::default()))
        .expect("the library is accepted");
    let mut options = ReloadOptions::default();
    if watches > 0 {
        options.max_watches = watches;
    }
    let watcher = registry.watch(options).expect("the library is followed");
    assert!(watcher.wait_ready(READY), "the library is not followed");
    let is_watched = matches!(watcher.state()[0].following, FollowMethod::Watching(_));
    print_gauge("skills", registry.snapshot().active().count() as f64);
    let mut changes = Changes::new(library);
    let mut subscription = registry.subscribe();

    let rounds = rounds_of_fixed_work();
    let (mut costs, mut waits, mut fixed) = (Vec::new(), Vec::new(), Vec::new());
    let started = Instant::now();
    let cpu = process::cpu_ms("self");
    for _ in 0..count {
        if !is_watched && started.elapsed() > PATIENCE {
            break;
        }
        let change = changes.next();
        let start = Instant::now();
        change.make();
        costs.push((change.kind, wait(&mut subscription, &change)));
        waits.push(start.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(PAUSE);
        fixed.push(fixed_work(rounds).as_secs_f64() * 1e3);
        std::thread::sleep(PAUSE);
    }
    let fixed_cpu = fixed.iter().sum::<f64>();
    let cpu = (process::cpu_ms("self") - cpu - fixed_cpu).max(0.0) / waits.len() as f64;
    stopwatch::print_percentiles("visible", waits, cpu);
    // The same machine in the same moments: what the machine adds to one, it adds to the other.
    stopwatch::print_percentiles("fixed work", fixed, FIXED_WORK.as_secs_f64() * 1e3);
    stopwatch::print_percentiles("one change", costs.iter().map(|(_, cost)| *cost).collect(), cpu);
    for kind in Kind::ALL {
        let costs: Vec<f64> = costs.iter().filter(|(of, _)| *of == kind).map(|(_, cost)| *cost).collect();
        // If each change waits for a poll, there may not be one of every kind.
        if !costs.is_empty() {
            stopwatch::print_percentiles(&format!("one change, {}", kind.as_str()), costs, cpu);
        }
    }

    let asked: Vec<Change> = (0..count.min(200) / 4 * 4).map(|_| changes.next()).collect();
    stopwatch::measure_calls("asked", &asked, |change| {
        change.make();
        let newest = pollster::block_on(registry.newest());
        assert!(!is_watched || is_seen(&newest, change), "{} is not seen", change.name);
    });

    print_gauge("resident MB", process::resident_mb("self"));
    print_gauge("descriptors", process::descriptors("self"));
    print_gauge("watches", process::watches("self"));
    print_gauge("budget", process::budget(options.max_watches));
    process::print_idle("self", seconds);
}

/// Returns the number of rounds of the fixed work that take [`FIXED_WORK`].
fn rounds_of_fixed_work() -> u64 {
    const ROUNDS: u64 = 100_000;
    let fastest = (0..50).map(|_| fixed_work(ROUNDS)).min().expect("it was done");
    (ROUNDS as f64 * FIXED_WORK.as_secs_f64() / fastest.as_secs_f64()) as u64
}

/// Does the same work every time, and returns its duration.
fn fixed_work(rounds: u64) -> Duration {
    let start = Instant::now();
    std::hint::black_box(
        (0..rounds).fold(1_u64, |state, round| (state ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    );
    start.elapsed()
}

/// Waits until `change` is seen, and returns the delay in milliseconds.
fn wait(subscription: &mut Subscription, change: &Change) -> f64 {
    loop {
        let seen =
            subscription.next_within(DEADLINE).unwrap_or_else(|| panic!("{} is not seen", change.name));
        let is_named =
            |names: &[repertoire::SkillName]| names.iter().any(|name| name.as_str() == change.name);
        let aspect = |aspect| {
            seen.changed
                .iter()
                .any(|(name, aspects)| name.as_str() == change.name && aspects.contains(&aspect))
        };
        let is_so = match change.kind {
            Kind::Body => aspect(Aspect::Instructions),
            Kind::Description => aspect(Aspect::Description),
            Kind::Add => is_named(&seen.added),
            Kind::Remove => is_named(&seen.removed),
        };
        if is_so {
            return seen.took.as_secs_f64() * 1e3;
        }
    }
}

fn is_seen(snapshot: &Snapshot, change: &Change) -> bool {
    matches!(snapshot.find(&change.name), Lookup::Found(_)) != (change.kind == Kind::Remove)
}
