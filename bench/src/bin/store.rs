//! Measures a store of many skills, versions and events.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use bench::figures::quantile;
use clap::Parser;
use repertoire::event::{Event, EventKind};
use repertoire::store::{Blob, EventQuery, NewVersion, Origin, Store, skill_files};
use repertoire_model::SkillPath;
use repertoire_model::bundle::{Bundle, BundleFile};
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
    /// 100,000 skills, 10 versions of each, 1,000,000 events: about ten minutes and a gigabyte
    #[arg(long)]
    full: bool,
}

/// The number of events, or of skills, that are written at once.
const BATCH: u64 = 100;

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
    let store = open(location)?;
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
        let batch: Vec<Event> = (0..BATCH).map(|event| self::event(batch * BATCH + event, skills)).collect();
        appends.push(timed(|| store.append(&batch).map_err(anyhow::Error::from))?);
    }
    report(&format!("append {BATCH} events"), &mut appends);
    drop(store);

    report("open", &mut repeat(20, |_| Ok(open(location)?))?);
    let mut first = repeat(5, |_| Ok(open(location)?.latest_digests()?))?;
    report("open, newest digests", &mut first);
    let store = open(location)?;
    let some = |call: u64| format!("/home/ann/library/skills/skill-{}", call * 7_919 % skills);
    let mut reads = repeat(CALLS, |call| {
        let found = store.versions(&some(call))?;
        anyhow::ensure!(found.len() as u64 == versions);
        Ok(skill_files(&*store, &found[(call % versions) as usize].digest)?)
    })?;
    report("history, files of a version", &mut reads);
    report("newest version", &mut repeat(CALLS, |call| Ok(store.latest_version(&some(call))?))?);
    report("newest 1,000 events", &mut repeat(20, |_| Ok(store.events(&EventQuery::default())?))?);
    let query =
        |call: u64| EventQuery { skill: Some(format!("skill-{}", call % skills)), ..EventQuery::default() };
    report("events of a skill", &mut repeat(20, |call| Ok(store.events(&query(call))?))?);
    println!("{} rows of usage", store.usage(None)?.len());
    report("usage", &mut repeat(5, |_| Ok(store.usage(None)?))?);
    let month = UNIX_EPOCH + Duration::from_secs(60 * 24 * 60 * 60);
    report("usage of 30 days", &mut repeat(5, |_| Ok(store.usage(Some(month))?))?);
    report("daily loads of 30 days", &mut repeat(5, |_| Ok(store.daily_loads(month)?))?);
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

/// Returns the event with this number: of 90 days, 20 agents and skills of which a few are used most.
fn event(number: u64, skills: u64) -> Event {
    let time = UNIX_EPOCH + Duration::from_secs(number % 90 * 24 * 60 * 60 + number % 86_400);
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

fn repeat<T>(calls: u64, work: impl Fn(u64) -> Result<T>) -> Result<Vec<Duration>> {
    (0..calls).map(|call| timed(|| work(call))).collect()
}

/// Prints the median and the 99th percentile of `times`.
fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let milliseconds: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
    let (p50, p99) = (quantile(&milliseconds, 0.5), quantile(&milliseconds, 0.99));
    println!("{what:<28} p50 {p50:>9.3} ms   p99 {p99:>9.3} ms");
}
