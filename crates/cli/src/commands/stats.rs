//! `rep stats`.

mod clients;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use pollster::block_on;
use repertoire::event::jsonl::rfc3339;
use repertoire::store::{EventQuery, MemoryStore, Store, Usage};
use repertoire::usage::{
    CONCENTRATION_PERCENT, DeadSkill, FileUsage, LibrarySkill, SkillUsage, UsageData, UsageReport,
    loads_per_day, report,
};
use repertoire::{Entry, EventKind, Outcome};
use repertoire_model::FileKind;
use serde::Deserialize;
use serde_json::{Value, json};

use self::clients::ClientRecord;
use super::events::age;
use super::list::Counter;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::{Context, Library};

/// The line of the frontmatter that takes a skill out of the catalog.
const SWITCH_OFF: &str = "disable-model-invocation: true";

/// The seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The most events that are read to count sessions.
const MAX_SESSION_EVENTS: usize = 50_000;

/// The most days whose loads are shown one by one.
const MAX_DAYS: usize = 30;

/// The most files that are reported as read most.
const MAX_HOT_FILES: usize = 10;

/// Shows which skills and files are used, which are not, and what they cost
///
/// Counts what sessions and servers recorded, by whole days of UTC. A skill that was neither loaded, read nor run for 30 days is listed as not used,
/// with the command that takes it out of the catalog. Sessions without a single call are not known, and catalogs in them not counted.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Count what happened within this time, such as 30d, 12h or 90m
    #[arg(long, value_name = "TIME", value_parser = age, default_value = "30d")]
    since: Duration,
    /// List skills as not used after this time
    #[arg(long, value_name = "TIME", value_parser = age, default_value = "30d")]
    dead_after: Duration,
    /// Add what Claude Code and Codex recorded themselves: skills that they loaded, or whose SKILL.md they read
    #[arg(long)]
    from_clients: bool,
}

/// The report with everything that is shown beside it.
struct Stats {
    report: UsageReport,
    since: Option<SystemTime>,
    dead_after: Duration,
    sessions: SessionCount,
    /// The paths of the `SKILL.md` of skills, by name.
    paths: BTreeMap<String, String>,
    /// The loads of skills on the last days, by name.
    days: BTreeMap<String, Vec<u64>>,
    /// The usage that clients recorded themselves.
    clients: Vec<ClientRecord>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, args: &StatsArgs) -> Result<Exit, CliError> {
    let store: Arc<dyn Store> = if context.has_store() {
        context.store()?
    } else {
        if !ui.is_json() {
            writeln!(ui.err(), "nothing has been recorded yet")?;
        }
        Arc::new(MemoryStore::new())
    };
    let library = context.inspect_served(context.settings.policy.clone());
    let stats = stats(context, &library, &*store, args, SystemTime::now())?;
    if ui.is_json() {
        ui.write_json(&stats.json())?;
    } else {
        stats.write(ui, context)?;
    }
    Ok(Exit::Success)
}

fn stats(
    context: &Context,
    library: &Library,
    store: &dyn Store,
    args: &StatsArgs,
    now: SystemTime,
) -> Result<Stats, CliError> {
    let since = now.checked_sub(args.since).and_then(start_of_day);
    let usage = store.usage(since)?;
    let sessions = sessions(store, since, MAX_SESSION_EVENTS)?;
    let skills = library_skills(context, library, &usage);
    let data = UsageData {
        library: &skills,
        usage: &usage,
        sessions: sessions.number,
        now,
        dead_after: args.dead_after,
    };
    let mut report = report(data);
    let mut clients = Vec::new();
    if args.from_clients {
        clients = clients::read(&context.env, since);
        let oldest = now.checked_sub(args.dead_after);
        let used = clients::read(&context.env, oldest);
        let oldest = oldest.map(rfc3339);
        report
            .dead
            .retain(|skill| !used.iter().any(|record| record.was_used(&skill.name, oldest.as_deref())));
    }
    let days = usize::try_from(args.since.as_secs().div_ceil(24 * 60 * 60)).unwrap_or(MAX_DAYS);
    let loads = store.daily_loads(since.unwrap_or(SystemTime::UNIX_EPOCH))?;
    let days = loads_per_day(&loads, now, days.clamp(1, MAX_DAYS));
    Ok(Stats {
        report,
        since,
        dead_after: args.dead_after,
        sessions,
        paths: library.snapshot.active().map(|entry| (entry.name().to_string(), entry.location())).collect(),
        days: days.into_iter().map(|(name, loads)| (name.to_owned(), loads)).collect(),
        clients,
    })
}

/// Returns the skills of the library, with the references of those that were loaded.
fn library_skills(context: &Context, library: &Library, usage: &[Usage]) -> Vec<LibrarySkill> {
    let counter = Counter::new(context, library);
    let is_load = |usage: &&Usage| {
        usage.calls > 0 && usage.kind == EventKind::SkillLoaded && usage.outcome == Outcome::Ok
    };
    let loaded: BTreeSet<&str> = usage.iter().filter(is_load).map(|usage| usage.skill.as_str()).collect();
    let skill = |entry: &Entry| LibrarySkill {
        name: entry.name().to_string(),
        references: if loaded.contains(entry.name().as_str()) {
            references(library, entry)
        } else {
            Vec::new()
        },
        catalog_tokens: if entry.document.manifest.disable_model_invocation {
            0
        } else {
            counter.entry(entry)
        },
    };
    library.snapshot.active().map(skill).collect()
}

/// Returns the references of a skill; none if its files cannot be read.
fn references(library: &Library, entry: &Entry) -> Vec<String> {
    let files = block_on(library.registry.files(entry)).map(|listing| listing.files).unwrap_or_default();
    let references = files.iter().filter(|file| file.kind == FileKind::Reference);
    references.map(|file| file.path.as_str().to_owned()).collect()
}

/// Returns the start of the day of UTC that `time` lies in; `None` if that is before 1970.
fn start_of_day(time: SystemTime) -> Option<SystemTime> {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds - seconds % DAY);
    (start > SystemTime::UNIX_EPOCH).then_some(start)
}

/// A number of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SessionCount {
    number: u64,
    /// There were more events than are looked at, so there may be more sessions.
    is_least: bool,
}

/// Returns the number of sessions with events; only the newest `limit` events are looked at.
fn sessions(store: &dyn Store, since: Option<SystemTime>, limit: usize) -> Result<SessionCount, CliError> {
    #[derive(Deserialize)]
    struct SessionOfEvent {
        session: String,
    }
    let events = store.events(&EventQuery { since, limit, ..EventQuery::default() })?;
    let is_least = events.len() == limit;
    let sessions = events.iter().filter_map(|line| serde_json::from_str::<SessionOfEvent>(&line.json).ok());
    let sessions: BTreeSet<String> =
        sessions.map(|event| event.session).filter(|session| !session.is_empty()).collect();
    Ok(SessionCount { number: sessions.len() as u64, is_least })
}

impl Stats {
    /// Returns the files that were read most, with their skills.
    fn hot_files(&self) -> Vec<(&str, &FileUsage)> {
        let files = self.report.skills.iter().flat_map(|skill| {
            skill.files.iter().filter(|file| file.reads > 0).map(|file| (skill.name.as_str(), file))
        });
        let mut files: Vec<(&str, &FileUsage)> = files.collect();
        files.sort_by(|(a_skill, a), (b_skill, b)| {
            (b.reads, a_skill, &a.path).cmp(&(a.reads, b_skill, &b.path))
        });
        files.truncate(MAX_HOT_FILES);
        files
    }

    /// Returns the references that were not read although their skills were loaded.
    fn unread_files(&self) -> impl Iterator<Item = (&str, &str)> {
        let skills = self.report.skills.iter();
        skills.flat_map(|skill| skill.unread.iter().map(|path| (skill.name.as_str(), path.as_str())))
    }

    fn total(&self, of: impl Fn(&SkillUsage) -> u64) -> u64 {
        self.report.skills.iter().map(of).sum()
    }

    fn json(&self) -> Value {
        let UsageReport { skills, dead, concentration, agents } = &self.report;
        json!({
            "since": self.since.map(rfc3339),
            "sessions": self.sessions.number,
            "sessions_are_least": self.sessions.is_least,
            "totals": {
                "loads": self.total(|skill| skill.loads),
                "reads": self.total(|skill| skill.reads),
                "failures": self.total(|skill| skill.failures),
                "tokens": self.total(|skill| skill.tokens),
                "catalog_tokens": self.total(|skill| skill.catalog_tokens),
                "agents": agents,
            },
            "concentration": {
                "percent": CONCENTRATION_PERCENT,
                "core_skills": concentration.core_skills,
                "loaded_skills": concentration.loaded_skills,
            },
            "skills": skills.iter().map(|skill| self.skill_json(skill)).collect::<Value>(),
            "dead_after_days": days(self.dead_after),
            "dead": dead.iter().map(|skill| self.dead_json(skill)).collect::<Value>(),
            "hot_files": self
                .hot_files()
                .into_iter()
                .map(|(skill, file)| json!({"skill": skill, "path": file.path, "reads": file.reads, "tokens": file.tokens}))
                .collect::<Value>(),
            "clients": self.clients.iter().map(ClientRecord::json).collect::<Value>(),
            "unread_files": self.unread_files().map(|(skill, path)| json!({"skill": skill, "path": path})).collect::<Value>(),
        })
    }

    fn skill_json(&self, skill: &SkillUsage) -> Value {
        json!({
            "name": skill.name,
            "state": skill.presence.as_str(),
            "loads": skill.loads,
            "reads": skill.reads,
            "failures": skill.failures,
            "tokens": skill.tokens,
            "catalog_tokens": skill.catalog_tokens,
            "agents": skill.agents,
            "last_use": skill.last_use.map(rfc3339),
            "daily_loads": self.days.get(&skill.name),
            "files": skill.files.iter().map(file_json).collect::<Value>(),
        })
    }

    fn dead_json(&self, skill: &DeadSkill) -> Value {
        json!({
            "name": skill.name,
            "last_use": skill.last_use.map(rfc3339),
            "catalog_tokens": skill.catalog_tokens,
            "path": self.paths.get(&skill.name),
            "switch_off": SWITCH_OFF,
        })
    }
}

/// Returns a duration in days, as a whole number where it is one.
fn days(duration: Duration) -> Value {
    let (seconds, day) = (duration.as_secs(), 24 * 60 * 60);
    if seconds.is_multiple_of(day) { (seconds / day).into() } else { (seconds as f64 / day as f64).into() }
}

fn file_json(file: &FileUsage) -> Value {
    json!({
        "path": file.path,
        "reads": file.reads,
        "failures": file.failures,
        "tokens": file.tokens,
        "agents": file.agents,
        "last_use": file.last_use.map(rfc3339),
    })
}

#[cfg(test)]
mod tests {
    use repertoire::event::Event;
    use repertoire::store::{Journal as _, MemoryStore};

    use super::*;

    #[test]
    fn sessions_over_the_limit_of_events_are_said_to_be_the_least() {
        let store = MemoryStore::new();
        let event = |session: usize| {
            Event::new(EventKind::SkillsListed, "list_skills", session.to_string(), SystemTime::now())
        };
        store.append(&[event(1), event(1), event(2)]).unwrap();
        let count = |number, is_least| SessionCount { number, is_least };
        assert_eq!(sessions(&store, None, 4).unwrap(), count(2, false));
        assert_eq!(sessions(&store, None, 3).unwrap(), count(2, true));
    }
}
