//! Measures a store of many skills, versions and events.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use bench::figures::quantile;
use clap::Parser;
use pollster::block_on;
use repertoire::certificates::Certificates;
use repertoire::event::{Event, EventKind, EventSink, JournalOptions, JournalSink};
use repertoire::provider::store::StoreProvider;
use repertoire::registry::ReleaseFollower;
use repertoire::store::{
    Blob, EventQuery, LazyStore, NewVersion, Origin, ReleaseChange, Store, put_skill, skill_files,
};
use repertoire::{Library, MemoryProvider, Policy, Registry, SessionOptions, SkillDefinition};
use repertoire_model::SkillPath;
use repertoire_model::bundle::{Bundle, BundleFile};
use repertoire_model::ledger::Reload;
use repertoire_model::patch::{FileData, SkillFiles};
use repertoire_store::open;

/// Measures a store of many skills, versions and events
#[derive(Parser)]
struct Arguments {
    /// A SQLite file or the address of a PostgreSQL database, empty; a temporary file by default
    #[arg(long, value_name = "LOCATION")]
    store: Option<String>,
    /// The number of skills
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    skills: u64,
    /// The number of versions of each skill
    #[arg(long, value_name = "N", default_value_t = 10)]
    versions: u64,
    /// The number of events
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    events: u64,
    /// The program whose `rep stats` is timed over the events
    #[arg(long, value_name = "FILE")]
    rep: Option<PathBuf>,
    /// 100,000 skills, 10 versions of each, 1,000,000 events: about ten minutes and a gigabyte
    #[arg(long)]
    full: bool,
}

/// The number of events, or of skills, that are written at once.
const BATCH: u64 = 100;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of calls of each operation that is quick.
const CALLS: u64 = 2_000;

fn main() -> Result<()> {
    let mut arguments = Arguments::parse();
    if arguments.full {
        (arguments.skills, arguments.versions, arguments.events) = (100_000, 10, 1_000_000);
    }
    let temporary = PathBuf::from(format!("bench/work/store-{}.db", std::process::id()));
    let location = arguments.store.clone().unwrap_or_else(|| temporary.display().to_string());
    let result = measure(&arguments, &location);
    if arguments.store.is_none() {
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{end}", temporary.display()));
        }
    }
    result
}

fn measure(arguments: &Arguments, location: &str) -> Result<()> {
    let Arguments { skills, versions, events, .. } = *arguments;
    let store = open(location, &Certificates::none())?;
    let start = Instant::now();
    for version in 0..versions {
        for first in (0..skills).step_by(BATCH as usize) {
            add(&*store, first..skills.min(first + BATCH), version)?;
        }
    }
    report(
        "write a version, in batches",
        &mut [start.elapsed() / u32::try_from((skills * versions).max(1))?],
    );
    let mut appends = Vec::new();
    for batch in 0..events / BATCH {
        let event = |event: u64| self::event(batch * BATCH + event, events, skills);
        let batch: Vec<Event> = (0..BATCH).map(event).collect();
        appends.push(timed(|| store.append(&batch).map_err(anyhow::Error::from))?);
    }
    report(&format!("append {BATCH} events"), &mut appends);
    let seconds: f64 = appends.iter().map(Duration::as_secs_f64).sum();
    println!("{:.0} events a second", events as f64 / seconds.max(f64::MIN_POSITIVE));
    drop(store);
    journal(location)?;
    if location.contains("://") {
        replicas(location)?;
    }

    report("open", &mut repeat(20, |_| Ok(open(location, &Certificates::none())?))?);
    let mut first = repeat(5, |_| Ok(open(location, &Certificates::none())?.latest_digests()?))?;
    report("open, newest digests", &mut first);
    let store = open(location, &Certificates::none())?;
    let some = |call: u64| format!("/home/ann/library/skills/skill-{}", call * 7_919 % skills);
    let mut reads = repeat(CALLS, |call| {
        let found = store.versions(&some(call))?;
        anyhow::ensure!(found.len() as u64 == versions);
        Ok(skill_files(&*store, &found[(call % versions) as usize].digest)?)
    })?;
    report("history, files of a version", &mut reads);
    report("newest version", &mut repeat(CALLS, |call| Ok(store.latest_version(&some(call))?))?);
    report("newest 1,000 events", &mut repeat(20, |_| Ok(store.events(&EventQuery::default())?))?);
    let query = |call: u64| {
        let mut query = EventQuery::default();
        query.skill = Some(format!("skill-{}", call % skills));
        query
    };
    report("events of a skill", &mut repeat(20, |call| Ok(store.events(&query(call))?))?);
    println!("{} rows of usage", store.usage(None)?.len());
    report("usage", &mut repeat(5, |_| Ok(store.usage(None)?))?);
    let month = SystemTime::now() - 30 * DAY;
    report("usage of 30 days", &mut repeat(5, |_| Ok(store.usage(Some(month))?))?);
    report("daily loads of 30 days", &mut repeat(5, |_| Ok(store.daily_loads(month)?))?);
    if let Some(program) = &arguments.rep {
        report("rep stats, as a process", &mut repeat(5, |_| stats(program, location))?);
    }
    Ok(())
}

/// Measures a call of a tool without a journal and with one, by turns.
fn journal(location: &str) -> Result<()> {
    let skill = SkillDefinition::new("greet", "Greets people. Use when someone says hello.", "# Greet\n");
    let library = || Library::builder().provider(Arc::new(MemoryProvider::new("bench", vec![skill.clone()])));
    let store = open(location, &Certificates::none())?;
    let sink =
        Arc::new(JournalSink::new(move || Ok(Arc::clone(&store) as Arc<_>), JournalOptions::default()));
    let mut options = SessionOptions::default();
    options.loading.reload = Reload::AlwaysBody;
    let silent = block_on(library().session_options(options.clone()).open())?;
    // Events are made for any sink; this one is the cost of the event alone.
    let noted = block_on(library().session_options(options.clone()).sink(Arc::new(Nothing)).open())?;
    let recorded = block_on(library().session_options(options).sink(sink.clone()).open())?;
    let sessions = [block_on(silent.session())?, block_on(noted.session())?, block_on(recorded.session())?];
    let arguments = serde_json::json!({"name": "greet"});
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..CALLS * 5 {
        for (session, times) in sessions.iter().zip(&mut times) {
            times.push(timed(|| Ok(block_on(session.call("load_skill", &arguments))))?);
        }
    }
    sink.flush(Duration::from_secs(60));
    let [silent, noted, recorded] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6
    });
    println!("a call without events        p50 {silent:>9.1} us");
    println!("with an empty sink           p50 {noted:>9.1} us   {:+.1} us", noted - silent);
    println!(
        "with the journal             p50 {recorded:>9.1} us   {:+.1} us, ratio {:.2}, {} dropped",
        recorded - silent,
        recorded / silent,
        sink.dropped()
    );
    Ok(())
}

/// A sink that does nothing.
struct Nothing;

impl EventSink for Nothing {
    fn record(&self, _: &Event) {}
}

/// Measures how long it takes until a replica offers what was published through another connection.
fn replicas(location: &str) -> Result<()> {
    const CHANNEL: &str = "bench";
    let (publisher, lazy) =
        (open(location, &Certificates::none())?, LazyStore::from(open(location, &Certificates::none())?));
    let provider = Arc::new(StoreProvider::new(lazy.clone(), CHANNEL));
    let registry = block_on(Registry::open(vec![provider], Policy::default()))?;
    let _follower = ReleaseFollower::start(&registry, lazy);
    let mut changes = registry.subscribe();
    let seen = repeat(100, |number| {
        let text =
            format!("---\nname: greet\ndescription: Greets people. Use it {number} times.\n---\n# Greet\n");
        let file = FileData { executable: false, bytes: text.into_bytes() };
        let files = SkillFiles::from([(SkillPath::new("SKILL.md")?, file)]);
        let change =
            ReleaseChange { name: "greet".to_owned(), digest: Some(put_skill(&*publisher, &files)?) };
        publisher.release(CHANNEL, &[change], None, SystemTime::now())?;
        let wanted = format!("{number} times");
        let is_seen =
            || registry.snapshot().active().any(|entry| entry.document.description.contains(&wanted));
        while !is_seen() {
            changes.next_within(Duration::from_secs(5));
        }
        Ok(())
    });
    report("a release seen by a replica", &mut seen?);
    Ok(())
}

/// Runs `rep stats` over the events of a store.
#[allow(clippy::disallowed_methods, reason = "the whole process is measured")]
fn stats(program: &Path, location: &str) -> Result<()> {
    let directory = std::env::temp_dir();
    let location = if location.contains("://") { location.into() } else { std::path::absolute(location)? };
    let mut command = Command::new(std::path::absolute(program)?);
    command.args(["stats", "--json"]).current_dir(directory).env("REPERTOIRE_STORE_URL", location);
    let output = command.output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Adds a version of each of `skills` with two files, one of which is the same in all of its versions.
fn add(store: &dyn Store, skills: Range<u64>, version: u64) -> Result<()> {
    let mut blobs = Vec::new();
    let mut new = Vec::new();
    for skill in skills {
        let text = "text ".repeat(20);
        let body = format!("---\nname: skill-{skill}\ndescription: Version {version}\n---\n{text}");
        let script = format!("echo {skill}\n");
        let mut files = Vec::new();
        for (path, executable, content) in [("SKILL.md", false, body), ("scripts/run.sh", true, script)] {
            let blob = Blob::new(content.into_bytes());
            let (path, size, digest) = (SkillPath::new(path)?, blob.bytes.len() as u64, blob.digest);
            files.push(BundleFile { path, size, executable, digest });
            blobs.push(blob);
        }
        let manifest = Blob::new(Bundle::new(files).manifest());
        new.push(NewVersion {
            skill: format!("/home/ann/library/skills/skill-{skill}"),
            name: format!("skill-{skill}"),
            digest: manifest.digest,
            time: SystemTime::now(),
            origin: Origin::Edit,
            author: None,
        });
        blobs.push(manifest);
    }
    store.put_blobs(&blobs)?;
    for version in new {
        store.add_version(&version)?;
    }
    Ok(())
}

/// Returns event `number` of all: of the last 90 days, 20 agents and skills of which a few are used most.
fn event(number: u64, all: u64, skills: u64) -> Event {
    let time = SystemTime::now() - (90 * DAY).mul_f64((all - number) as f64 / all as f64);
    let is_load = !number.is_multiple_of(3);
    let (kind, tool) = if is_load {
        (EventKind::SkillLoaded, "load_skill")
    } else {
        (EventKind::FileRead, "read_skill_file")
    };
    let mut event = Event::new(kind, tool, format!("session-{}", number / 50), time);
    // The square makes small numbers more frequent.
    let share = (number * 7_919 % 1_000_003) as f64 / 1_000_003.0;
    event.skill = Some(format!("skill-{}", (share * share * skills.min(1_000) as f64) as u64));
    event.source = Some("project:.agents/skills".to_owned());
    event.file = (!is_load).then(|| format!("references/{}.md", number % 4));
    event.agent = Some(format!("agent-{}", number % 20));
    event.tokens = 500;
    event
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let start = Instant::now();
    drop(work()?);
    Ok(start.elapsed())
}

fn repeat<T>(calls: u64, mut work: impl FnMut(u64) -> Result<T>) -> Result<Vec<Duration>> {
    (0..calls).map(|call| timed(|| work(call))).collect()
}

/// Prints the median and the 99th percentile of `times`.
fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let milliseconds: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
    let (p50, p99) = (quantile(&milliseconds, 0.5), quantile(&milliseconds, 0.99));
    println!("{what:<28} p50 {p50:>9.3} ms   p99 {p99:>9.3} ms");
}
