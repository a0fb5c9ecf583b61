//! The usage of skills: which skills and files are used, which are not, and their cost.

mod clients;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pollster::block_on;
use repertoire::discovery::Place;
use repertoire::event::jsonl::rfc3339;
use repertoire::store::{EventQuery, Store, UsageCount};
use repertoire::unused::{UnusedTime, present_since, recording_began};
use repertoire::usage::{
    CONCENTRATION_PERCENT, DeadSkill, LibraryPresence, LibrarySkill, SkillUsage, UsageData, UsageReport,
    identify, loads_per_day, report,
};
use repertoire::{Entry, EventKind, Outcome, State};
use repertoire_clients::SkillOnDisk;
use repertoire_model::{Digest, FileKind};
use serde::Deserialize;
use serde_json::Number;

pub(crate) use self::clients::mentioned_skills;
use self::clients::{ClientRecord, KnownSkills};
use crate::error::Error;
use crate::token_counter::TokenCounter;
use crate::view::{
    ConcentrationView, ReadFileView, StatsView, UnreadFileView, UnusedSkillView, UsageTotalsView, UsageView,
    UsedFileView, UsedSkillView,
};
use crate::workspace::{Library, Workspace};

/// The seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The most events that are read to count sessions.
const MAX_SESSION_EVENTS: usize = 50_000;

/// The most days whose loads are shown one by one.
const MAX_DAYS: usize = 30;

/// The most files that are reported as read most.
const MAX_HOT_FILES: usize = 10;

/// The times of a report on usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatsOptions {
    /// The time that the report is about.
    pub since: Duration,
    /// The time without use after which a skill is called unused.
    pub dead_after: Duration,
    /// Adds the usage that clients recorded themselves.
    pub from_clients: bool,
    /// The current time.
    pub now: SystemTime,
}

/// The report with everything that belongs to it.
struct Stats {
    report: UsageReport,
    since: Option<SystemTime>,
    /// The time in which dead skills were not used.
    unused: UnusedTime,
    sessions: SessionCount,
    /// The paths of the `SKILL.md` of skills, by name.
    paths: BTreeMap<String, String>,
    /// The loads of skills on the last days, by identity, or by name for those without one.
    days: BTreeMap<String, Vec<u64>>,
    /// The usage that clients recorded themselves.
    clients: Vec<ClientRecord>,
}

/// Returns the report on the usage of the skills of `library` that `store`, if there is one, has recorded.
pub fn stats(
    workspace: &Workspace,
    library: &Library,
    store: Option<&dyn Store>,
    options: &StatsOptions,
) -> Result<StatsView, Error> {
    Ok(collect(workspace, library, store, options)?.view())
}

/// Returns the command that disables the skills called `names`. No name of a skill has a meaning for a shell.
pub fn switch_off<'s>(names: impl IntoIterator<Item = &'s str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    format!("rep disable {}", names.join(" "))
}

fn collect(
    workspace: &Workspace,
    library: &Library,
    store: Option<&dyn Store>,
    options: &StatsOptions,
) -> Result<Stats, Error> {
    let StatsOptions { now, dead_after, .. } = *options;
    let since = now.checked_sub(options.since).and_then(start_of_day);
    let mut usage = store.map_or(Ok(Vec::new()), |store| store.usage(since))?;
    let first = since.unwrap_or(SystemTime::UNIX_EPOCH);
    let mut loads = store.map_or(Ok(Vec::new()), |store| store.daily_loads(first))?;
    identify(&library.snapshot, &mut usage, &mut loads);
    let ours = OwnSkills::new(library);
    let sessions = match store {
        Some(store) => sessions(store, since, MAX_SESSION_EVENTS, |event| ours.is_meant(event))?,
        None => SessionCount::default(),
    };
    let skills = library_skills(workspace, library, &usage);
    let others = others(library, &usage);
    let data = UsageData {
        library: &skills,
        others: &others,
        usage: &usage,
        sessions: sessions.number,
        now,
        dead_after,
    };
    let mut report = report(data);
    let began = store.map_or(Ok(None), |store| recording_began(store, &usage))?;
    let unused = UnusedTime { began, length: dead_after, now };
    let active: BTreeMap<&str, &Entry> =
        library.snapshot.active().map(|entry| (entry.name().as_str(), entry)).collect();
    let known: Vec<&Entry> =
        report.dead.iter().filter_map(|skill| active.get(skill.name.as_str()).copied()).collect();
    let present = present_since(store, &known)?;
    let settled = known.iter().zip(present).filter(|(_, since)| unused.covers(*since));
    let settled: BTreeSet<&str> = settled.map(|(entry, _)| entry.name().as_str()).collect();
    report.dead.retain(|skill| settled.contains(skill.name.as_str()));
    let mut clients = Vec::new();
    if options.from_clients {
        let known = KnownSkills::new(workspace, library);
        clients = clients::read(&workspace.env, &known, since);
        let oldest = now.checked_sub(dead_after);
        let used = clients::read(&workspace.env, &known, oldest);
        let oldest = oldest.map(rfc3339);
        let is_used = |entry: &&Entry| {
            let directory = SkillOnDisk::of(entry).directory;
            used.iter().any(|record| record.was_used(&directory, oldest.as_deref()))
        };
        report.dead.retain(|skill| !active.get(skill.name.as_str()).is_some_and(is_used));
    }
    let days = usize::try_from(options.since.as_secs().div_ceil(24 * 60 * 60)).unwrap_or(MAX_DAYS);
    let days = loads_per_day(&loads, now, days.clamp(1, MAX_DAYS));
    Ok(Stats {
        report,
        since,
        unused,
        sessions,
        paths: library.snapshot.active().map(|entry| (entry.name().to_string(), entry.location())).collect(),
        days: days.into_iter().map(|(identity, loads)| (identity.to_owned(), loads)).collect(),
        clients,
    })
}

/// Returns the skills of the library, with the references of the skills that were loaded.
fn library_skills(workspace: &Workspace, library: &Library, usage: &[UsageCount]) -> Vec<LibrarySkill> {
    let counter = TokenCounter::new(workspace, library);
    let is_load = |usage: &&UsageCount| {
        usage.calls > 0 && usage.kind == EventKind::SkillLoaded && usage.outcome == Outcome::Ok
    };
    let loaded: BTreeSet<&str> =
        usage.iter().filter(is_load).filter_map(|usage| usage.identity.as_deref()).collect();
    let skill = |entry: &Entry| {
        let identity = entry.record_identity();
        let is_loaded = loaded.contains(identity.as_str());
        LibrarySkill {
            identity,
            name: entry.name().to_string(),
            source: entry.source.to_string(),
            references: if is_loaded { references(library, entry) } else { Vec::new() },
            catalog_tokens: if entry.allows_models() { counter.entry(entry) } else { 0 },
        }
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SessionCount {
    number: u64,
    /// There were more events than are looked at, so there may be more sessions.
    is_least: bool,
}

/// The part of an event that tells which library its session is of.
#[derive(Deserialize)]
struct SessionEvent {
    kind: String,
    session: String,
    skill: Option<String>,
    source: Option<String>,
    identity: Option<String>,
    digest: Option<String>,
}

/// The skills of the library, to recognise their events where other libraries use the same store.
struct OwnSkills<'a> {
    library: &'a Library,
    entries: BTreeMap<&'a str, &'a Entry>,
    identities: BTreeSet<String>,
    /// The digests of the instructions that were needed so far.
    digests: RefCell<BTreeMap<&'a str, Option<String>>>,
}

impl<'a> OwnSkills<'a> {
    fn new(library: &'a Library) -> Self {
        // An active skill takes the place of a disabled one of its name.
        let entries = disabled(library).chain(library.snapshot.active());
        let entries = entries.map(|entry| (entry.name().as_str(), entry)).collect();
        let identities = library.snapshot.entries().iter().map(Entry::record_identity).collect();
        Self { library, entries, identities, digests: RefCell::default() }
    }

    /// Returns `true` if the event is about a skill of the library: it has its identity, or without one its
    /// name, and its source or its instructions.
    fn is_meant(&self, event: &SessionEvent) -> bool {
        if let Some(identity) = &event.identity {
            return self.identities.contains(identity);
        }
        let Some(asked) = &event.skill else { return false };
        let Some((name, entry)) = self.entries.get_key_value(asked.as_str()) else { return false };
        if event.source.as_deref() == Some(&*entry.source) {
            return true;
        }
        let mut digests = self.digests.borrow_mut();
        let own = digests.entry(name).or_insert_with(|| {
            let skill = block_on(self.library.registry.get(entry)).ok()?;
            Some(Digest::of(skill.body().as_bytes()).to_string())
        });
        own.is_some() && *own == event.digest
    }
}

fn disabled(library: &Library) -> impl Iterator<Item = &Entry> {
    library.snapshot.entries().iter().filter(|entry| entry.state == State::Disabled)
}

/// Returns the presence of the skills that agents cannot use, and of those among the used ones that only
/// other libraries have, by identity or name.
fn others(library: &Library, usage: &[UsageCount]) -> BTreeMap<String, LibraryPresence> {
    let entries = library.snapshot.entries().iter();
    let presence = |entry: &Entry| match entry.state {
        State::Disabled => LibraryPresence::Disabled,
        _ => LibraryPresence::Present,
    };
    let mut others: BTreeMap<String, LibraryPresence> =
        entries.map(|entry| (entry.record_identity(), presence(entry))).collect();
    let roots: Vec<PathBuf> = library.places.iter().map(|place| resolved(&place.root.path)).collect();
    // Names without an identity are known by their source, which two libraries may call alike. Of several
    // skills with the name, nobody knows which was used.
    let is_from_here = |usage: &&UsageCount| {
        let has_label = |place: &Place| Some(&place.root.label) == usage.source.as_ref();
        library.snapshot.named(&usage.skill).is_empty() && library.places.iter().any(has_label)
    };
    let own: BTreeSet<&str> = usage.iter().filter(is_from_here).map(|usage| usage.skill.as_str()).collect();
    for usage in usage {
        let (key, is_own) = match &usage.identity {
            Some(identity) if others.contains_key(identity) => continue,
            Some(identity) => (identity, roots.iter().any(|root| Path::new(identity).starts_with(root))),
            None => (&usage.skill, own.contains(usage.skill.as_str())),
        };
        if !is_own {
            others.insert(key.clone(), LibraryPresence::Elsewhere);
        }
    }
    others
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the number of sessions with events that `is_counted`; only the newest `limit` events are examined.
fn sessions(
    store: &dyn Store,
    since: Option<SystemTime>,
    limit: usize,
    is_counted: impl Fn(&SessionEvent) -> bool,
) -> Result<SessionCount, Error> {
    let mut query = EventQuery::default();
    (query.since, query.limit) = (since, limit);
    let events = store.events(&query)?;
    let is_least = events.len() == limit;
    let events = events.iter().filter_map(|line| serde_json::from_str::<SessionEvent>(&line.json).ok());
    let sessions: BTreeSet<String> = events
        .filter(|event| !event.session.is_empty() && event.kind != "skill_downloaded" && is_counted(event))
        .map(|event| event.session)
        .collect();
    Ok(SessionCount { number: sessions.len() as u64, is_least })
}

impl Stats {
    /// Returns the files that were read most, with their skills.
    fn hot_files(&self) -> Vec<ReadFileView> {
        let files = self.of_library().flat_map(|skill| {
            skill.files.iter().filter(|file| file.reads > 0).map(|file| ReadFileView {
                skill: skill.name.clone(),
                path: file.path.clone(),
                reads: file.reads,
                tokens: file.tokens,
            })
        });
        let mut files: Vec<ReadFileView> = files.collect();
        files.sort_by(|a, b| (b.reads, &a.skill, &a.path).cmp(&(a.reads, &b.skill, &b.path)));
        files.truncate(MAX_HOT_FILES);
        files
    }

    /// Returns the references that were not read although their skills were loaded.
    fn unread_files(&self) -> Vec<UnreadFileView> {
        let of_skill = |skill: &SkillUsage| -> Vec<UnreadFileView> {
            let view = |path: &String| UnreadFileView { skill: skill.name.clone(), path: path.clone() };
            skill.unread.iter().map(view).collect()
        };
        self.report.skills.iter().flat_map(of_skill).collect()
    }

    /// Returns the skills without those of other libraries.
    fn of_library(&self) -> impl Iterator<Item = &SkillUsage> {
        self.report.skills.iter().filter(|skill| skill.presence != LibraryPresence::Elsewhere)
    }

    fn total(&self, of: impl Fn(&SkillUsage) -> u64) -> u64 {
        self.of_library().map(of).sum()
    }

    fn view(&self) -> StatsView {
        let UsageReport { skills, dead, concentration, agents, .. } = &self.report;
        StatsView {
            since: self.since.map(rfc3339),
            sessions: self.sessions.number,
            sessions_are_least: self.sessions.is_least,
            totals: UsageTotalsView {
                loads: self.total(|skill| skill.loads),
                reads: self.total(|skill| skill.reads),
                failures: self.total(|skill| skill.failures),
                tokens: self.total(|skill| skill.tokens),
                catalog_tokens: self.total(|skill| skill.catalog_tokens),
                agents: *agents,
            },
            concentration: ConcentrationView {
                percent: CONCENTRATION_PERCENT,
                core_skills: concentration.core_skills,
                loaded_skills: concentration.loaded_skills,
            },
            skills: skills.iter().map(|skill| self.used_skill(skill)).collect(),
            recording_began: self.unused.began.clone(),
            dead_after_days: days(self.unused.length),
            dead: dead.iter().map(|skill| self.unused_skill(skill)).collect(),
            hot_files: self.hot_files(),
            clients: self.clients.iter().map(ClientRecord::view).collect(),
            unread_files: self.unread_files(),
        }
    }

    fn used_skill(&self, skill: &SkillUsage) -> UsedSkillView {
        let days = self.days.get(skill.identity.as_ref().unwrap_or(&skill.name));
        UsedSkillView {
            name: skill.name.clone(),
            source: skill.source.clone(),
            identity: skill.identity.clone(),
            state: skill.presence.as_str(),
            catalog_tokens: skill.catalog_tokens,
            usage: UsageView::new(skill, days.map(Vec::as_slice).unwrap_or_default()),
            files: skill.files.iter().map(UsedFileView::new).collect(),
        }
    }

    fn unused_skill(&self, skill: &DeadSkill) -> UnusedSkillView {
        UnusedSkillView {
            name: skill.name.clone(),
            last_use: skill.last_use.map(rfc3339),
            catalog_tokens: skill.catalog_tokens,
            path: self.paths.get(&skill.name).cloned(),
            switch_off: switch_off([skill.name.as_str()]),
        }
    }
}

/// Returns a duration in days, as a whole number where it is one.
fn days(duration: Duration) -> Number {
    let seconds = duration.as_secs();
    let fraction = (!seconds.is_multiple_of(DAY)).then_some(seconds as f64 / DAY as f64);
    fraction.and_then(Number::from_f64).unwrap_or_else(|| Number::from(seconds / DAY))
}

#[cfg(test)]
mod tests {
    use crate::memory_store::MemoryStore;
    use repertoire::event::Event;
    use repertoire::store::Journal as _;

    use super::*;
    use std::sync::Arc;

    use crate::workspace::{Env, WorkspaceOptions};
    use serde_json::json;

    #[test]
    fn sessions_over_the_limit_of_events_are_said_to_be_the_least() {
        let store = MemoryStore::new();
        let event = |session: usize| {
            Event::new(EventKind::SkillsListed, "list_skills", session.to_string(), SystemTime::now())
        };
        store.append(&[event(1), event(1), event(2)]).unwrap();
        let count = |number, is_least| SessionCount { number, is_least };
        assert_eq!(sessions(&store, None, 4, |_| true).unwrap(), count(2, false));
        assert_eq!(sessions(&store, None, 3, |_| true).unwrap(), count(2, true));
        assert_eq!(sessions(&store, None, 4, |_| false).unwrap(), count(0, false));
    }

    /// Returns the names of the skills called unused at `days` from now, beside the skills that clients used.
    fn dead(home: &Path, days: u64) -> Vec<String> {
        let env = Env::new([("HOME".to_owned(), home.into())], PathBuf::new());
        let options = WorkspaceOptions { roots: vec![home.join("skills")], ..WorkspaceOptions::default() };
        let workspace = Workspace::load(env, options, Arc::new(())).unwrap();
        let library = workspace.inspect(workspace.settings.policy.clone());
        let day = Duration::from_secs(DAY);
        let now = SystemTime::now() + day * u32::try_from(days).unwrap();
        let options = StatsOptions { since: 7 * day, dead_after: 30 * day, from_clients: true, now };
        let stats = stats(&workspace, &library, None, &options).unwrap();
        assert!(stats.clients.is_empty(), "only the last 7 days count");
        stats.dead.into_iter().map(|skill| skill.name).collect()
    }

    #[test]
    fn skills_are_unused_if_they_were_there_all_the_time_and_no_client_used_them() {
        let home = tempfile::tempdir().unwrap();
        for name in ["alpha", "beta"] {
            let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n");
            std::fs::create_dir_all(home.path().join("skills").join(name)).unwrap();
            std::fs::write(home.path().join("skills").join(name).join("SKILL.md"), text).unwrap();
        }
        assert_eq!(dead(home.path(), 29), [""; 0]);
        assert_eq!(dead(home.path(), 31), ["alpha", "beta"]);
        let used = SystemTime::now() + Duration::from_secs(11 * DAY);
        let line = json!({"timestamp": rfc3339(used), "payload": {"type": "function_call", "arguments": "cat x/alpha/SKILL.md"}});
        let path = home.path().join(".codex/sessions/rollout.jsonl");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, line.to_string()).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(used).unwrap();
        assert_eq!(dead(home.path(), 31), ["beta"], "a use before the time of the report counts");
    }
}
