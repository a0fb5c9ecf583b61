//! Tells since when skills are known not to be used, the same for `rep stats` and the dashboard.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::metadata;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::Error;
use crate::event::jsonl::rfc3339;
use crate::provider::store::LABEL;
use crate::registry::Entry;
use crate::store::{EventQuery, Store, UsageCount};

/// The time in which skills were not used: that which was asked for, or less where recording began later.
///
/// Its text is `for 30 days`, or `since recording began on 2026-02-28`.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use repertoire::unused::UnusedTime;
///
/// let (day, now) = (Duration::from_secs(24 * 60 * 60), SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * 100));
/// let time = UnusedTime { began: Some("1970-04-01T12:00:00.000Z".to_owned()), length: day * 30, now };
/// assert_eq!(time.to_string(), "since recording began on 1970-04-01");
/// assert!(!time.is_recorded());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedTime {
    /// The time of the first call that was recorded, in RFC 3339; `None` if nothing was recorded.
    pub began: Option<String>,
    /// The length that was asked for.
    pub length: Duration,
    /// The current time, at which it ends.
    pub now: SystemTime,
}

impl UnusedTime {
    /// Returns `true` if all of it was recorded.
    pub fn is_recorded(&self) -> bool {
        let start = self.now.checked_sub(self.length).map(rfc3339);
        self.began.is_some() && self.began <= start
    }

    /// Returns `true` if a skill that is there `since` was there all the time, so that it can be called
    /// unused. One of unknown age cannot.
    pub fn covers(&self, since: Option<SystemTime>) -> bool {
        since.is_some_and(|since| self.now.duration_since(since).is_ok_and(|age| age >= self.length))
    }
}

impl fmt::Display for UnusedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(began) = self.began.as_deref().filter(|_| !self.is_recorded()) {
            let day: String = began.chars().take("2026-02-28".len()).collect();
            return write!(f, "since recording began on {day}");
        }
        let seconds = self.length.as_secs();
        let units = [(24 * 60 * 60, "day"), (60 * 60, "hour"), (60, "minute")];
        let unit = units.into_iter().find(|(unit, _)| seconds > 0 && seconds.is_multiple_of(*unit));
        let (unit, word) = unit.unwrap_or((1, "second"));
        let (number, plural) = (seconds / unit, if seconds == unit { "" } else { "s" });
        write!(f, "for {number} {word}{plural}")
    }
}

/// Returns for each of `entries` since when its skill is where it is; `None` where nothing tells.
///
/// A skill of `store` is there since it was first released to its channel.
pub fn present_since(
    store: Option<&dyn Store>,
    entries: &[&Entry],
) -> Result<Vec<Option<SystemTime>>, Error> {
    let mut released: BTreeMap<&str, BTreeMap<String, SystemTime>> = BTreeMap::new();
    let mut found = Vec::with_capacity(entries.len());
    for entry in entries {
        let Some(channel) = entry.source.strip_prefix(LABEL) else {
            found.push(on_disk_since(entry));
            continue;
        };
        if !released.contains_key(channel) {
            let first = store.map_or(Ok(Vec::new()), |store| store.first_releases(channel))?;
            released.insert(channel, first.into_iter().collect());
        }
        found.push(released[channel].get(entry.name().as_str()).copied());
    }
    Ok(found)
}

/// Returns when the skill of `entry` came to its directory.
///
/// Files that are edited, updated or unpacked change their time of modification, or keep that of another
/// machine. So the time at which the directory or its `SKILL.md` was created counts, and the modification
/// only where the system does not tell that.
fn on_disk_since(entry: &Entry) -> Option<SystemTime> {
    let directory = Path::new(entry.identity.as_deref()?);
    let found = [metadata(directory).ok(), metadata(directory.join(&*entry.manifest_file)).ok()];
    let found = || found.iter().flatten();
    let created = found().filter_map(|metadata| metadata.created().ok()).min();
    created.or_else(|| found().filter_map(|metadata| metadata.modified().ok()).max())
}

/// Returns the time of the first call that `store` knows of, in RFC 3339. Usage stays when events are
/// removed, so that it may know an older one.
pub fn recording_began(store: &dyn Store, usage: &[UsageCount]) -> Result<Option<String>, Error> {
    let query = EventQuery { after: Some(0), limit: 1, ..EventQuery::default() };
    let first = store.events(&query)?;
    let event = first.first().and_then(|line| serde_json::from_str::<Value>(&line.json).ok());
    let event = event.and_then(|event| event["time"].as_str().map(str::to_owned));
    Ok(usage.iter().map(|usage| rfc3339(usage.last)).chain(event).min())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 60 * 60;

    fn time(began: Option<&str>, seconds: u64) -> UnusedTime {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(100 * DAY);
        UnusedTime { began: began.map(str::to_owned), length: Duration::from_secs(seconds), now }
    }

    #[test]
    fn the_time_without_use_is_told_in_its_unit_and_never_longer_than_the_record() {
        let check = |began: Option<&str>, seconds: u64, expect: &str| {
            assert_eq!(time(began, seconds).to_string(), expect);
        };
        let began = Some("1970-04-01T12:00:00.000Z");
        check(began, DAY / 2, "for 12 hours");
        check(began, 90 * 60, "for 90 minutes");
        check(began, DAY, "for 1 day");
        check(began, 9 * DAY, "for 9 days");
        check(began, 10 * DAY, "since recording began on 1970-04-01");
        check(began, 200 * DAY, "since recording began on 1970-04-01");
        check(None, 30 * DAY, "for 30 days");
    }

    #[test]
    fn a_skill_that_is_younger_than_the_time_is_not_called_unused() {
        let time = time(None, 30 * DAY);
        for (days, expect) in [(0, false), (29, false), (30, true), (31, true)] {
            assert_eq!(time.covers(Some(time.now - Duration::from_secs(days * DAY))), expect, "{days}");
        }
        assert!(!time.covers(None), "nothing is known of its age");
        assert!(!time.covers(Some(time.now + Duration::from_secs(DAY))), "the clock was set back");
    }

    #[test]
    fn a_time_is_recorded_if_recording_began_before_it() {
        for (began, days, expect) in [(None, 1, false), (Some(9), 10, false), (Some(11), 10, true)] {
            let began = began.map(|days| rfc3339(time(None, 0).now - Duration::from_secs(days * DAY)));
            assert_eq!(time(began.as_deref(), days * DAY).is_recorded(), expect);
        }
    }
}
