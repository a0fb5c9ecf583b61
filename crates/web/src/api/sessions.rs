//! `GET /api/v1/sessions`: the sessions that were active of late, and what each has loaded.

use std::collections::HashMap;
use std::time::SystemTime;

use repertoire::event::jsonl::rfc3339;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::events::{self, EventRecord, EventsQuery};
use super::request::{MAX_LIMIT, part};
use crate::dashboard::RequestContext;

const PAGE: usize = 25;

const MAX_EVENTS: usize = 10_000;

/// The hours that are looked back.
const HOURS: u32 = 72;

/// The minutes without an event after which a session is no longer active.
const ACTIVE_MINUTES: u64 = 30;

/// A part of a list of sessions.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct SessionsQuery {
    /// Only sessions of the agent of this name.
    pub(crate) agent: Option<String>,
    /// The most sessions of the answer, from 1 to 500.
    #[schemars(extend("minimum" = 1, "maximum" = 500))]
    pub(crate) limit: Option<usize>,
    /// The `next_cursor` of the answer before.
    #[schemars(extend("pattern" = "^[0-9]{0,15}$"))]
    pub(crate) cursor: Option<String>,
}

/// A session.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct SessionRow {
    /// The name of the session.
    pub(crate) session: String,
    /// The agent.
    pub(crate) agent: Option<String>,
    /// The person or token.
    pub(crate) principal: Option<String>,
    /// The surface, such as `mcp` or `cli`.
    pub(crate) surface: Option<String>,
    /// The time of the first event, in RFC 3339.
    pub(crate) first: String,
    /// The time of the last event, in RFC 3339.
    pub(crate) last: String,
    /// True if there was an event in the last half hour, and the session is not a single call of `rep call`.
    pub(crate) is_active: bool,
    /// The number of calls.
    pub(crate) calls: usize,
    /// The number of calls that failed.
    pub(crate) failures: usize,
    /// The tokens that were served.
    pub(crate) tokens: u64,
    /// The skills that were loaded and not unloaded since.
    pub(crate) loaded: Vec<LoadedSkill>,
}

/// A skill that a session has loaded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct LoadedSkill {
    /// The skill.
    pub(crate) name: String,
    /// The tokens of its instructions and files.
    pub(crate) tokens: u64,
    /// The files that were read.
    pub(crate) files: usize,
}

/// A list of sessions, the one with the newest event first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SessionList {
    /// The sessions.
    pub(crate) sessions: Vec<SessionRow>,
    /// The number of sessions of the last three days.
    pub(crate) total: usize,
    /// The number of active ones.
    pub(crate) active: usize,
    /// The cursor of the next part; absent for the last one.
    pub(crate) next_cursor: Option<String>,
}

/// Returns the sessions of the last days.
pub(crate) async fn list(ctx: &RequestContext, query: &SessionsQuery) -> Result<SessionList, ApiError> {
    let mut newest = Vec::new();
    let mut cursor = None;
    loop {
        let query = EventsQuery {
            agent: query.agent.clone(),
            hours: Some(HOURS),
            limit: Some(MAX_LIMIT),
            cursor,
            ..EventsQuery::default()
        };
        let found = events::list(ctx, &query).await?;
        newest.extend(found.events);
        cursor = found.next_cursor;
        if cursor.is_none() || newest.len() >= MAX_EVENTS {
            break;
        }
    }
    let oldest_first = newest.into_iter().rev();
    let since = SystemTime::now().checked_sub(std::time::Duration::from_secs(ACTIVE_MINUTES * 60));
    let sessions = gather(oldest_first, &since.map(rfc3339).unwrap_or_default());
    let active = sessions.iter().filter(|session| session.is_active).count();
    let page = part(sessions, query.cursor.as_deref(), query.limit, PAGE)?;
    Ok(SessionList { sessions: page.items, total: page.total, active, next_cursor: page.next })
}

/// Returns the sessions of `events`, newest event first. One with an event after `active_since` is active.
fn gather(events: impl Iterator<Item = EventRecord>, active_since: &str) -> Vec<SessionRow> {
    // Clients that make a connection for each request share a session, whoever they are.
    let mut sessions: HashMap<(String, Option<String>), SessionRow> = HashMap::new();
    // A download is not a session of an agent.
    let is_counted = |event: &EventRecord| !event.session.is_empty() && event.kind != "skill_downloaded";
    for event in events.filter(is_counted) {
        let key = (event.session.clone(), event.principal.clone());
        let row = sessions.entry(key).or_insert_with(|| SessionRow {
            session: event.session.clone(),
            first: event.time.clone(),
            ..SessionRow::default()
        });
        row.add(event);
    }
    let mut rows: Vec<SessionRow> = sessions.into_values().collect();
    for row in &mut rows {
        // One of the command line ends with its call.
        row.is_active = row.last.as_str() >= active_since && row.surface.as_deref() != Some("cli");
    }
    rows.sort_by(|a, b| (&b.last, &a.session, &a.principal).cmp(&(&a.last, &b.session, &b.principal)));
    rows
}

impl SessionRow {
    fn add(&mut self, event: EventRecord) {
        self.last = event.time;
        self.calls += 1;
        self.agent = event.agent.or(self.agent.take());
        self.principal = event.principal.or(self.principal.take());
        self.surface = event.surface.or(self.surface.take());
        if event.outcome != "ok" {
            self.failures += 1;
            return;
        }
        self.tokens += event.tokens;
        let Some(skill) = event.skill else { return };
        let position = self.loaded.iter().position(|loaded| loaded.name == skill);
        match (event.kind.as_str(), position) {
            ("skill_unloaded", Some(position)) => drop(self.loaded.remove(position)),
            ("skill_loaded", None) => {
                self.loaded.push(LoadedSkill { name: skill, tokens: event.tokens, files: 0 })
            }
            ("skill_loaded", Some(position)) => self.loaded[position].tokens += event.tokens,
            ("file_read", Some(position)) => {
                self.loaded[position].tokens += event.tokens;
                self.loaded[position].files += 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_loaded_what_it_did_not_unload() {
        let event = |session: &str, minute: u32, kind: &str, skill: &str| EventRecord {
            session: session.to_owned(),
            time: format!("2026-01-01T00:{minute:02}:00.000Z"),
            kind: kind.to_owned(),
            skill: Some(skill.to_owned()),
            outcome: "ok".to_owned(),
            tokens: 10,
            ..EventRecord::default()
        };
        let events = [
            event("a", 1, "skill_loaded", "x"),
            event("b", 2, "skill_loaded", "x"),
            event("a", 3, "skill_loaded", "y"),
            event("a", 4, "file_read", "y"),
            event("a", 5, "skill_unloaded", "x"),
            event("", 6, "skill_loaded", "z"),
            event("c", 7, "skill_downloaded", "z"),
            EventRecord { principal: Some("ann".to_owned()), ..event("b", 1, "skill_loaded", "w") },
            EventRecord { surface: Some("cli".to_owned()), ..event("d", 5, "skill_loaded", "v") },
        ];
        let rows = gather(events.into_iter(), "2026-01-01T00:03:00.000Z");
        let summary = |row: &SessionRow| {
            let loaded =
                row.loaded.iter().map(|skill| format!("{} {} {}", skill.name, skill.tokens, skill.files));
            (row.session.clone(), row.is_active, row.calls, loaded.collect::<Vec<_>>().join(", "))
        };
        let summaries: Vec<_> = rows.iter().map(summary).collect();
        let expect = [
            ("a", true, 4, "y 20 1"),
            ("d", false, 1, "v 10 0"),
            ("b", false, 1, "x 10 0"),
            ("b", false, 1, "w 10 0"),
        ];
        assert_eq!(
            summaries,
            expect.map(|(name, active, calls, loaded)| (name.to_owned(), active, calls, loaded.to_owned()))
        );
    }
}
