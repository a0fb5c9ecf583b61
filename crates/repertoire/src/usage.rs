//! A report on the usage of skills: what is used, what is not, and what it costs.
//!
//! Usage belongs to a skill, known by its [identity](Entry::record_identity), not to all skills of a name.
//! The functions here are pure: counts come from a [`Journal`](crate::store::Journal), and time is given.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::event::{EventKind, Outcome};
#[cfg(doc)]
use crate::registry::Entry;
use crate::registry::Snapshot;
use crate::store::{DailyLoads, UsageCount};

/// The share of loads, in percent, that [`Concentration`] is about.
pub const CONCENTRATION_PERCENT: u64 = 80;

const DAY: u64 = 24 * 60 * 60;

/// A skill that agents can use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibrarySkill {
    /// Its identity.
    pub identity: String,
    /// Its name.
    pub name: String,
    /// Its source.
    pub source: String,
    /// The files that its instructions refer agents to.
    pub references: Vec<String>,
    /// The tokens of its entry in a catalog; 0 for a skill that is kept out of catalogs.
    pub catalog_tokens: u64,
}

/// The data of a report.
#[derive(Debug, Clone, Copy)]
pub struct UsageData<'a> {
    /// The skills of the library.
    pub library: &'a [LibrarySkill],
    /// The presence of other skills, by identity, or by name for usage without one: skills of the library
    /// that agents cannot use, and skills of other libraries alone.
    pub others: &'a BTreeMap<String, LibraryPresence>,
    /// The usage in the time that the report is about, and without calls what was used before.
    pub usage: &'a [UsageCount],
    /// The number of sessions in that time, each of which had a catalog.
    pub sessions: u64,
    /// The current time.
    pub now: SystemTime,
    /// The time without use after which a skill is dead.
    pub dead_after: Duration,
}

/// A report on the usage of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageReport {
    /// The skills that were used or asked for, and all others of the library: the most loaded first, then the
    /// most read, then by name.
    pub skills: Vec<SkillUsage>,
    /// The skills of the library that are in catalogs and not in use, the longest unused first, then by name.
    pub dead: Vec<DeadSkill>,
    /// The concentration of loads on a few skills.
    pub concentration: Concentration,
    /// The number of agents that used skills, where the host told their names.
    pub agents: usize,
}

repertoire_model::words! {
    /// The relation of a name in the journal to the library.
    LibraryPresence {
        /// The library has the skill.
        Present "present",
        /// The library has the skill, and it is disabled.
        Disabled "disabled",
        /// The skill was used, and the library does not have it anymore.
        Gone "gone",
        /// The skill was used, and is one of another library that has the same store, or one of several with
        /// the name that was recorded. It is in no sums.
        Elsewhere "elsewhere",
        /// The name was asked for, and no skill was found.
        Unknown "unknown",
    }
}

/// The usage of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillUsage {
    /// The name.
    pub name: String,
    /// The identity; `None` for a name that no skill has, or that several have.
    pub identity: Option<String>,
    /// The source, if it is known.
    pub source: Option<String>,
    /// The presence of the skill in the library.
    pub presence: LibraryPresence,
    /// The number of times that its instructions were given.
    pub loads: u64,
    /// The number of times that its files were given.
    pub reads: u64,
    /// The number of failed calls about it.
    pub failures: u64,
    /// The tokens of instructions and files that were given.
    pub tokens: u64,
    /// The number of agents, where the host told their names.
    pub agents: usize,
    /// The time of its last use, also before the time of the report.
    pub last_use: Option<SystemTime>,
    /// The tokens of its entry in the catalogs of all sessions.
    pub catalog_tokens: u64,
    /// Its files that were read or asked for, the most read first, then by path.
    pub files: Vec<FileUsage>,
    /// References that no agent read although the skill was loaded, by path.
    pub unread: Vec<String>,
}

/// The usage of one file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileUsage {
    /// The path.
    pub path: String,
    /// The number of times that it was given.
    pub reads: u64,
    /// The number of failed calls about it.
    pub failures: u64,
    /// The tokens that were given.
    pub tokens: u64,
    /// The number of agents, where the host told their names.
    pub agents: usize,
    /// The time it was given last, within the time of the report.
    pub last_use: Option<SystemTime>,
}

/// A skill that costs tokens of catalogs and is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadSkill {
    /// The name.
    pub name: String,
    /// The identity.
    pub identity: String,
    /// The time of its last use; `None` if it was never used.
    pub last_use: Option<SystemTime>,
    /// The tokens of its entry in one catalog.
    pub catalog_tokens: u64,
}

/// The concentration of loads on a few skills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Concentration {
    /// All loads.
    pub loads: u64,
    /// The number of skills that were loaded.
    pub loaded_skills: usize,
    /// The number of the most loaded skills that make up [`CONCENTRATION_PERCENT`] of the loads.
    pub core_skills: usize,
}

#[derive(Default)]
struct Counts<'a> {
    loads: u64,
    reads: u64,
    failures: u64,
    tokens: u64,
    agents: BTreeSet<&'a str>,
    last_use: Option<SystemTime>,
    /// The calls that were made last, which tell the newest name.
    latest: Option<&'a UsageCount>,
}

impl<'a> Counts<'a> {
    fn add(&mut self, usage: &'a UsageCount) {
        if self.latest.is_none_or(|latest| latest.last <= usage.last) {
            self.latest = Some(usage);
        }
        if usage.outcome != Outcome::Ok {
            self.failures += usage.calls;
            return;
        }
        match (usage.kind, &usage.file) {
            (EventKind::SkillLoaded, None) => self.loads += usage.calls,
            (EventKind::SkillLoaded | EventKind::FileRead, _) => self.reads += usage.calls,
            _ => {}
        }
        self.tokens += usage.tokens;
        self.agents.extend(usage.agent.as_deref());
        if is_use(usage) {
            self.last_use = self.last_use.max(Some(usage.last));
        }
    }
}

/// Returns the text that usage is summed up by: the identity of a skill, or else the name.
fn key<'a>(identity: &'a Option<String>, name: &'a str) -> &'a str {
    identity.as_deref().unwrap_or(name)
}

/// Gives usage without an identity to the skill of `snapshot` that has its name, if there is exactly one.
///
/// Usage was once recorded by the names of skills alone. A call for a name that no skill had belongs to the
/// skill that has it now.
pub fn identify(snapshot: &Snapshot, usage: &mut [UsageCount], loads: &mut [DailyLoads]) {
    let usage = usage.iter_mut().map(|usage| (&usage.skill, &mut usage.identity));
    let loads = loads.iter_mut().map(|loads| (&loads.skill, &mut loads.identity));
    for (name, identity) in usage.chain(loads).filter(|(_, identity)| identity.is_none()) {
        if let [only] = snapshot.named(name) {
            *identity = Some(only.record_identity());
        }
    }
}

/// Returns whether the calls are uses of a skill: something of it was given, or run.
fn is_use(usage: &UsageCount) -> bool {
    use EventKind::{FileRead, ScriptRun, SkillLoaded, SkillToolCalled};
    usage.outcome == Outcome::Ok && matches!(usage.kind, SkillLoaded | FileRead | SkillToolCalled | ScriptRun)
}

/// Returns the report on `data`.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use std::collections::BTreeMap;
/// use repertoire::usage::{LibrarySkill, UsageData, report};
///
/// let (identity, name) = ("/skills/git".to_owned(), "git".to_owned());
/// let library = [LibrarySkill { identity, name, catalog_tokens: 30, ..LibrarySkill::default() }];
/// let (now, dead_after) = (SystemTime::UNIX_EPOCH, Duration::from_secs(30 * 24 * 60 * 60));
/// let others = BTreeMap::new();
/// let data = UsageData { library: &library, others: &others, usage: &[], sessions: 2, now, dead_after };
/// let report = report(data);
/// assert_eq!(report.skills[0].catalog_tokens, 60);
/// assert_eq!(report.dead[0].last_use, None);
/// ```
pub fn report(data: UsageData<'_>) -> UsageReport {
    let mut last_uses: BTreeMap<&str, SystemTime> = BTreeMap::new();
    for usage in data.usage.iter().filter(|usage| is_use(usage)) {
        let last = last_uses.entry(key(&usage.identity, &usage.skill)).or_insert(usage.last);
        *last = usage.last.max(*last);
    }
    let mut skills: BTreeMap<&str, Counts<'_>> = BTreeMap::new();
    let mut files: BTreeMap<&str, BTreeMap<&str, Counts<'_>>> = BTreeMap::new();
    let mut agents = BTreeSet::new();
    for usage in data.usage.iter().filter(|usage| usage.calls > 0) {
        let key = key(&usage.identity, &usage.skill);
        if data.others.get(key) != Some(&LibraryPresence::Elsewhere) {
            agents.extend(usage.agent.as_deref());
        }
        skills.entry(key).or_default().add(usage);
        if let Some(file) = &usage.file {
            files.entry(key).or_default().entry(file).or_default().add(usage);
        }
    }
    let library: BTreeMap<&str, &LibrarySkill> =
        data.library.iter().map(|skill| (skill.identity.as_str(), skill)).collect();
    for key in library.keys() {
        skills.entry(key).or_default();
    }
    let mut skills: Vec<SkillUsage> = skills
        .into_iter()
        .map(|(key, counts)| {
            let files = file_usage(files.remove(key).unwrap_or_default());
            skill_usage(key, counts, files, library.get(key).copied(), last_uses.get(key).copied(), data)
        })
        .collect();
    skills.sort_by(|a, b| {
        (b.loads, b.reads, &a.name, &a.identity).cmp(&(a.loads, a.reads, &b.name, &b.identity))
    });
    let concentration = concentration(&skills);
    UsageReport { dead: dead(&library, &last_uses, data), concentration, agents: agents.len(), skills }
}

fn skill_usage(
    key: &str,
    counts: Counts<'_>,
    files: Vec<FileUsage>,
    skill: Option<&LibrarySkill>,
    last_use: Option<SystemTime>,
    data: UsageData<'_>,
) -> SkillUsage {
    let is_read = |path: &String| files.iter().any(|file| file.path == *path && file.reads > 0);
    let references = skill.map_or(&[][..], |skill| &skill.references).iter();
    let mut unread: Vec<String> =
        references.filter(|path| counts.loads > 0 && !is_read(path)).cloned().collect();
    unread.sort_unstable();
    let presence = match (skill, data.others.get(key), last_use) {
        (Some(_), _, _) => LibraryPresence::Present,
        (None, Some(own @ (LibraryPresence::Disabled | LibraryPresence::Present)), _) => *own,
        (None, _, None) => LibraryPresence::Unknown,
        (None, Some(other), Some(_)) => *other,
        (None, None, Some(_)) => LibraryPresence::Gone,
    };
    let latest = counts.latest;
    let named = skill.map(|skill| skill.name.clone()).or_else(|| latest.map(|usage| usage.skill.clone()));
    let found = skill.map(|skill| skill.identity.clone());
    let source = skill.map(|skill| skill.source.clone());
    SkillUsage {
        name: named.unwrap_or_default(),
        identity: found.or_else(|| latest.and_then(|usage| usage.identity.clone())),
        source: source.or_else(|| latest.and_then(|usage| usage.source.clone())),
        presence,
        loads: counts.loads,
        reads: counts.reads,
        failures: counts.failures,
        tokens: counts.tokens,
        agents: counts.agents.len(),
        last_use,
        catalog_tokens: skill.map_or(0, |skill| skill.catalog_tokens.saturating_mul(data.sessions)),
        files,
        unread,
    }
}

fn file_usage(files: BTreeMap<&str, Counts<'_>>) -> Vec<FileUsage> {
    let usage = |(path, counts): (&str, Counts<'_>)| FileUsage {
        path: path.to_owned(),
        reads: counts.reads,
        failures: counts.failures,
        tokens: counts.tokens,
        agents: counts.agents.len(),
        last_use: counts.last_use,
    };
    let mut files: Vec<FileUsage> = files.into_iter().map(usage).collect();
    files.sort_by(|a, b| (b.reads, &a.path).cmp(&(a.reads, &b.path)));
    files
}

fn dead(
    library: &BTreeMap<&str, &LibrarySkill>,
    last_uses: &BTreeMap<&str, SystemTime>,
    data: UsageData<'_>,
) -> Vec<DeadSkill> {
    let is_dead = |last: &Option<SystemTime>| {
        last.is_none_or(|last| data.now.duration_since(last).is_ok_and(|age| age >= data.dead_after))
    };
    let offered = library.iter().filter(|(_, skill)| skill.catalog_tokens > 0);
    let mut dead: Vec<DeadSkill> = offered
        .map(|(identity, skill)| DeadSkill {
            name: skill.name.clone(),
            identity: skill.identity.clone(),
            last_use: last_uses.get(identity).copied(),
            catalog_tokens: skill.catalog_tokens,
        })
        .filter(|skill| is_dead(&skill.last_use))
        .collect();
    dead.sort_by(|a, b| (a.last_use, &a.name, &a.identity).cmp(&(b.last_use, &b.name, &b.identity)));
    dead
}

/// Returns the concentration of `skills`, the most loaded of which comes first.
fn concentration(skills: &[SkillUsage]) -> Concentration {
    let of_library = || skills.iter().filter(|skill| skill.presence != LibraryPresence::Elsewhere);
    let loads: u64 = of_library().map(|skill| skill.loads).sum();
    let mut left = (loads * CONCENTRATION_PERCENT).div_ceil(100);
    let mut found = Concentration { loads, ..Concentration::default() };
    for skill in of_library().filter(|skill| skill.loads > 0) {
        found.loaded_skills += 1;
        found.core_skills += usize::from(left > 0);
        left = left.saturating_sub(skill.loads);
    }
    found
}

/// Returns the identities of the skills that were loaded, the most loaded first, then by name; for usage
/// without an identity, the name.
pub fn most_loaded_first(usage: &[UsageCount]) -> Vec<String> {
    let (now, dead_after, others) = (UNIX_EPOCH, Duration::ZERO, BTreeMap::new());
    let data = UsageData { library: &[], others: &others, usage, sessions: 0, now, dead_after };
    let loaded = report(data).skills.into_iter().filter(|skill| skill.loads > 0);
    loaded.map(|skill| skill.identity.unwrap_or(skill.name)).collect()
}

/// Returns the loads of each skill on each of the last `days` days, that of `now` last, by identity or name.
pub fn loads_per_day(loads: &[DailyLoads], now: SystemTime, days: usize) -> BTreeMap<&str, Vec<u64>> {
    let today = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / DAY;
    let mut found: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for load in loads {
        let age = today.checked_sub(load.day).and_then(|age| usize::try_from(age).ok());
        if let Some(age) = age.filter(|age| *age < days) {
            found.entry(key(&load.identity, &load.skill)).or_insert_with(|| vec![0; days])[days - 1 - age] +=
                load.loads;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{MemoryProvider, Policy, Provider, Registry, SkillDefinition};

    const NOW: u64 = 1_000 * DAY;

    fn at(days_ago: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(NOW - days_ago * DAY)
    }

    fn usage(kind: EventKind, outcome: Outcome, skill: &str, file: Option<&str>, calls: u64) -> UsageCount {
        UsageCount {
            kind,
            outcome,
            skill: skill.to_owned(),
            source: None,
            identity: Some(format!("/skills/{skill}")),
            file: file.map(str::to_owned),
            agent: None,
            calls,
            tokens: calls * 10,
            last: at(0),
        }
    }

    fn loaded(skill: &str, calls: u64) -> UsageCount {
        usage(EventKind::SkillLoaded, Outcome::Ok, skill, None, calls)
    }

    fn library(names: &[&str]) -> Vec<LibrarySkill> {
        let skill = |name: &&str| LibrarySkill {
            identity: format!("/skills/{name}"),
            name: (*name).to_owned(),
            catalog_tokens: 7,
            ..LibrarySkill::default()
        };
        names.iter().map(skill).collect()
    }

    fn reported(library: &[LibrarySkill], usage: &[UsageCount]) -> UsageReport {
        let dead_after = Duration::from_secs(30 * DAY);
        let others = BTreeMap::from([("/skills/off".to_owned(), LibraryPresence::Disabled)]);
        report(UsageData { library, others: &others, usage, sessions: 3, now: at(0), dead_after })
    }

    #[test]
    fn a_disabled_skill_is_not_gone() {
        let report = reported(&library(&["on"]), &[loaded("off", 2), loaded("removed", 1)]);
        let found: Vec<(&str, LibraryPresence)> =
            report.skills.iter().map(|skill| (skill.name.as_str(), skill.presence)).collect();
        assert_eq!(
            found,
            [
                ("off", LibraryPresence::Disabled),
                ("removed", LibraryPresence::Gone),
                ("on", LibraryPresence::Present)
            ]
        );
    }

    #[test]
    fn o5_skills_are_dead_after_30_days_without_use_or_if_they_were_never_used() {
        let used = |skill: &str, days| UsageCount { last: at(days), ..loaded(skill, 1) };
        let mut failed = loaded("failed", 1);
        failed.outcome = Outcome::Error;
        let all = [used("d29", 29), used("d30", 30), used("d31", 31), failed, used("gone", 99)];
        let mut library = library(&["never", "d29", "d30", "d31", "failed", "hidden"]);
        library[5].catalog_tokens = 0;
        let dead: Vec<(String, Option<SystemTime>)> =
            reported(&library, &all).dead.into_iter().map(|skill| (skill.name, skill.last_use)).collect();
        let row = |name: &str, days: Option<u64>| (name.to_owned(), days.map(at));
        assert_eq!(
            dead,
            [row("failed", None), row("never", None), row("d31", Some(31)), row("d30", Some(30))]
        );
    }

    #[test]
    fn a_skill_is_in_use_if_its_files_are_read_or_its_tools_called() {
        for kind in [EventKind::FileRead, EventKind::SkillToolCalled, EventKind::ScriptRun] {
            assert!(reported(&library(&["a"]), &[usage(kind, Outcome::Ok, "a", None, 1)]).dead.is_empty());
        }
        let listed = usage(EventKind::FilesListed, Outcome::Ok, "a", None, 1);
        assert_eq!(reported(&library(&["a"]), &[listed]).dead.len(), 1);
    }

    #[test]
    fn o6_files_are_counted_beside_the_skill() {
        let mut library = library(&["a", "b"]);
        library[0].references =
            ["references/z.md", "references/used.md", "references/y.md"].map(str::to_owned).to_vec();
        library[1].references = vec!["references/other.md".to_owned()];
        let read = |file, calls| usage(EventKind::FileRead, Outcome::Ok, "a", Some(file), calls);
        let by_load = usage(EventKind::SkillLoaded, Outcome::Ok, "a", Some("references/used.md"), 2);
        let missing = usage(EventKind::FileRead, Outcome::NotFound, "a", Some("references/y.md"), 1);
        let used = [loaded("a", 1), read("references/used.md", 1), by_load, missing, read("x.md", 9)];
        let report = reported(&library, &used);
        let skill = &report.skills[0];
        assert_eq!((skill.loads, skill.reads, skill.failures, skill.tokens), (1, 12, 1, 130));
        let files: Vec<(&str, u64, u64)> =
            skill.files.iter().map(|file| (file.path.as_str(), file.reads, file.failures)).collect();
        assert_eq!(files, [("x.md", 9, 0), ("references/used.md", 3, 0), ("references/y.md", 0, 1)]);
        assert_eq!(skill.unread, ["references/y.md", "references/z.md"]);
        assert!(report.skills[1].unread.is_empty(), "b was not loaded, so its files could not be read");
    }

    #[test]
    fn skills_that_are_gone_and_names_that_never_were_are_told_apart() {
        let wrong = usage(EventKind::SkillLoaded, Outcome::NotFound, "wrong", None, 1);
        let report = reported(&library(&["here"]), &[loaded("gone", 1), wrong]);
        let found: Vec<(&str, &str, u64)> = report
            .skills
            .iter()
            .map(|skill| (skill.name.as_str(), skill.presence.as_str(), skill.catalog_tokens))
            .collect();
        assert_eq!(found, [("gone", "gone", 0), ("here", "present", 21), ("wrong", "unknown", 0)]);
    }

    #[test]
    fn skills_of_one_name_are_told_apart_and_a_renamed_one_keeps_its_usage() {
        let of = |name: &str, identity: &str, calls| UsageCount {
            identity: Some(identity.to_owned()),
            ..loaded(name, calls)
        };
        let mut all = library(&["deploy", "ship"]);
        all[0].identity = "store:stable:deploy".to_owned();
        let usage = [
            of("deploy", "store:stable:deploy", 2),
            of("deploy", "store:next:deploy", 3),
            of("deploy", "/skills/ship", 4),
        ];
        let found: Vec<(String, Option<String>, &str, u64)> = reported(&all, &usage)
            .skills
            .into_iter()
            .map(|skill| (skill.name, skill.identity, skill.presence.as_str(), skill.loads))
            .collect();
        let row = |name: &str, identity: &str, presence, loads| {
            (name.to_owned(), Some(identity.to_owned()), presence, loads)
        };
        assert_eq!(
            found,
            [
                row("ship", "/skills/ship", "present", 4),
                row("deploy", "store:next:deploy", "gone", 3),
                row("deploy", "store:stable:deploy", "present", 2),
            ]
        );
    }

    #[test]
    fn usage_without_an_identity_is_that_of_the_only_skill_with_the_name() {
        let skill = |name: &str| SkillDefinition::new(name, "Does it. Use when asked.", "Do it.\n");
        let source = |label, names: &[&str]| -> Arc<dyn Provider> {
            Arc::new(MemoryProvider::new(label, names.iter().map(|name| skill(name)).collect()))
        };
        let providers = vec![source("a", &["one", "both"]), source("b", &["both"])];
        let registry = pollster::block_on(Registry::open(providers, Policy::default())).unwrap();
        let old = |name| UsageCount { identity: None, ..loaded(name, 1) };
        let mut usage = [old("one"), old("both"), old("none"), loaded("one", 1)];
        let mut loads = [DailyLoads { skill: "one".to_owned(), identity: None, day: 1, loads: 1 }];
        identify(&registry.snapshot(), &mut usage, &mut loads);
        let found: Vec<Option<&str>> = usage.iter().map(|usage| usage.identity.as_deref()).collect();
        assert_eq!(found, [Some("a:one"), None, None, Some("/skills/one")]);
        assert_eq!(loads[0].identity.as_deref(), Some("a:one"));
    }

    #[test]
    fn agents_are_counted_once() {
        let by = |agent: &str, skill: &str| UsageCount { agent: Some(agent.to_owned()), ..loaded(skill, 1) };
        let report = reported(&[], &[by("x", "a"), by("x", "a"), by("y", "a"), by("x", "b"), loaded("b", 1)]);
        assert_eq!(report.agents, 2);
        assert_eq!(report.skills.iter().map(|skill| skill.agents).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn the_core_is_the_fewest_skills_with_80_percent_of_the_loads() {
        let check = |loads: &[u64], core: usize| {
            let usage: Vec<UsageCount> = loads
                .iter()
                .enumerate()
                .map(|(number, calls)| loaded(&format!("s{number}"), *calls))
                .collect();
            assert_eq!(reported(&[], &usage).concentration.core_skills, core, "{loads:?}");
        };
        check(&[], 0);
        check(&[1], 1);
        check(&[80, 10, 10], 1);
        check(&[79, 11, 10], 2);
        check(&[1, 1, 1, 1, 1], 4);
        check(&[0, 5], 1);
    }

    #[test]
    fn the_most_loaded_come_first_and_ties_are_by_name() {
        let read = usage(EventKind::FileRead, Outcome::Ok, "read", Some("x"), 9);
        assert_eq!(
            most_loaded_first(&[loaded("b", 1), loaded("a", 1), loaded("c", 2), read]),
            ["/skills/c", "/skills/a", "/skills/b"]
        );
    }

    #[test]
    fn loads_per_day_end_today() {
        let load = |days_ago: u64, loads| DailyLoads {
            skill: "a".to_owned(),
            identity: None,
            day: 1_000 - days_ago,
            loads,
        };
        let loads = [load(3, 9), load(2, 1), load(0, 4)];
        assert_eq!(loads_per_day(&loads, at(0), 3)["a"], [1, 0, 4]);
        assert!(loads_per_day(&loads, at(50), 3).is_empty(), "days to come are left out");
    }
}
