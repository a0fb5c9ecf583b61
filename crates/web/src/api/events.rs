//! `/api/v1/events`: the journal of events.

use std::time::{Duration, SystemTime};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use repertoire::Snapshot;
use repertoire::serve::{UNKNOWN_SKILL, without_kind};
use repertoire::store::{EventQuery, JournalLine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::records::with_store;
use super::request::{Params, page_size};
use crate::dashboard::RequestContext;

/// The number of events on a page.
const PAGE: usize = 50;

/// Maximum events that one answer looks at, where filters leave most of them out.
const MAX_SCANNED: usize = 20_000;

/// Maximum hours that events are looked back for.
const MAX_HOURS: u32 = 1_000_000;

/// The number of events that are read at once.
const BATCH: usize = 1_000;

/// The filters of events.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct EventsQuery {
    /// Only events of this kind, such as `skill_loaded`.
    pub(crate) kind: Option<String>,
    /// Only events with this outcome: `ok`, `not_found`, `denied`, `invalid` or `error`.
    pub(crate) outcome: Option<String>,
    /// Only events about the skill of this name.
    pub(crate) skill: Option<String>,
    /// Only events of the agent of this name.
    pub(crate) agent: Option<String>,
    /// Only events of the person or token of this name.
    pub(crate) principal: Option<String>,
    /// Only events of this session.
    pub(crate) session: Option<String>,
    /// Only events of the last hours.
    #[schemars(extend("maximum" = 1_000_000))]
    pub(crate) hours: Option<u32>,
    /// The most events of the answer, from 1 to 500.
    #[schemars(extend("minimum" = 1, "maximum" = 500))]
    pub(crate) limit: Option<usize>,
    /// The `next_cursor` of the answer before.
    #[schemars(extend("pattern" = "^[0-9]{0,15}$"))]
    pub(crate) cursor: Option<String>,
}

/// The filters of an export.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ExportQuery {
    /// Only events of this kind, such as `skill_loaded`.
    pub(crate) kind: Option<String>,
    /// Only events with this outcome: `ok`, `not_found`, `denied`, `invalid` or `error`.
    pub(crate) outcome: Option<String>,
    /// Only events about the skill of this name.
    pub(crate) skill: Option<String>,
    /// Only events of the agent of this name.
    pub(crate) agent: Option<String>,
    /// Only events of the person or token of this name.
    pub(crate) principal: Option<String>,
    /// Only events of this session.
    pub(crate) session: Option<String>,
    /// Only events of the last hours.
    #[schemars(extend("maximum" = 1_000_000))]
    pub(crate) hours: Option<u32>,
}

/// An event.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct EventRecord {
    /// The number; later events have larger ones.
    pub(crate) id: u64,
    /// The time, in RFC 3339.
    pub(crate) time: String,
    /// The kind, such as `skill_loaded`.
    pub(crate) kind: String,
    /// The tool or operation.
    pub(crate) tool: String,
    /// The skill.
    pub(crate) skill: Option<String>,
    /// The file of the skill.
    pub(crate) file: Option<String>,
    /// The source of the skill.
    pub(crate) source: Option<String>,
    /// The agent.
    pub(crate) agent: Option<String>,
    /// The session; empty outside of sessions.
    pub(crate) session: String,
    /// The outcome.
    pub(crate) outcome: String,
    /// The bytes that were served.
    pub(crate) bytes: u64,
    /// The tokens that were served.
    pub(crate) tokens: u64,
    /// The duration in seconds.
    pub(crate) duration: f64,
    /// The error.
    pub(crate) error: Option<String>,
    /// The search query.
    pub(crate) query: Option<String>,
    /// The number of search results.
    pub(crate) results: Option<u64>,
    /// The tool of the skill.
    pub(crate) skill_tool: Option<String>,
    /// The person or token that asked.
    pub(crate) principal: Option<String>,
    /// The surface, such as `mcp` or `cli`.
    pub(crate) surface: Option<String>,
    /// The way in which the skill came.
    pub(crate) via: Option<String>,
}

/// A list of events, the newest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct EventList {
    /// The events.
    pub(crate) events: Vec<EventRecord>,
    /// The cursor of the next part; absent for the last one.
    pub(crate) next_cursor: Option<String>,
}

/// Answers with events as lines of JSON, the oldest first.
pub(crate) async fn get_export(
    Extension(ctx): Extension<RequestContext>,
    Params(query): Params<ExportQuery>,
) -> Result<Response, ApiError> {
    let ExportQuery { kind, outcome, skill, agent, principal, session, hours } = query;
    let (limit, cursor) = (None, None);
    export(ctx, EventsQuery { kind, outcome, skill, agent, principal, session, hours, limit, cursor }).await
}

/// The filters of a query, and the scope of the sender.
struct Filter {
    query: EventsQuery,
    journal: EventQuery,
}

impl Filter {
    fn new(ctx: &RequestContext, query: &EventsQuery) -> Result<Self, ApiError> {
        if query.hours.is_some_and(|hours| hours > MAX_HOURS) {
            return Err(ApiError::invalid(format!("hours: at most {MAX_HOURS}")));
        }
        let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let query = EventsQuery {
            kind: set(&query.kind),
            outcome: set(&query.outcome),
            skill: set(&query.skill),
            agent: set(&query.agent),
            principal: set(&query.principal),
            session: set(&query.session),
            ..query.clone()
        };
        let hours = query.hours.map(|hours| Duration::from_secs(u64::from(hours) * 3_600));
        let own = ctx.view.agent().map(|agent| agent.name.clone());
        let mut journal = EventQuery::default();
        journal.since = hours.and_then(|hours| SystemTime::now().checked_sub(hours));
        journal.skill.clone_from(&query.skill);
        journal.agent = own.or_else(|| query.agent.clone());
        journal.limit = BATCH;
        Ok(Self { query, journal })
    }

    /// Returns `line` as an event if the filters let it pass and the sender may see it.
    fn event(&self, ctx: &RequestContext, snapshot: &Snapshot, line: &JournalLine) -> Option<EventRecord> {
        let event: EventRecord = serde_json::from_str(&line.json).ok()?;
        let is =
            |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|wanted| wanted == value);
        // Events without a skill, such as searches, are for who caused them: they may concern hidden skills.
        let is_own = || {
            let is_sender = event.principal.as_deref() == ctx.principal.name.as_deref();
            // A call for a skill out of scope is hidden even from its sender, as for one that does not exist.
            is_sender && event.error.as_deref() != Some(UNKNOWN_SKILL)
        };
        let is_seen = ctx.sees_all()
            || event
                .skill
                .as_deref()
                .map_or_else(is_own, |skill| ctx.view.sees_records(snapshot, skill, event.source.as_deref()));
        let principal = event.principal.as_deref().unwrap_or_default();
        let is_meant = is(&self.query.kind, &event.kind)
            && is(&self.query.outcome, &event.outcome)
            && is(&self.query.session, &event.session)
            && is(&self.query.agent, event.agent.as_deref().unwrap_or_default())
            && (is(&self.query.principal, principal) || is(&self.query.principal, without_kind(principal)))
            && is_seen;
        is_meant.then_some(EventRecord { id: line.id, ..event })
    }
}

/// Returns the events that `query` selects, the newest first.
pub(crate) async fn list(ctx: &RequestContext, query: &EventsQuery) -> Result<EventList, ApiError> {
    let limit = page_size(query.limit, PAGE)?;
    let filter = Filter::new(ctx, query)?;
    let mut before = match query.cursor.as_deref().filter(|cursor| !cursor.is_empty()) {
        Some(cursor) => {
            Some(cursor.parse().map_err(|_| ApiError::invalid("cursor: it is not from this list"))?)
        }
        None => None,
    };
    let snapshot = ctx.view.shared.registry.snapshot();
    let (mut events, mut scanned) = (Vec::new(), 0);
    loop {
        let mut journal = filter.journal.clone();
        journal.before = before;
        let lines = with_store(ctx, move |store| Ok(store.events(&journal)?)).await?;
        for line in lines.iter().rev() {
            before = Some(line.id);
            events.extend(filter.event(ctx, &snapshot, line));
            if events.len() == limit {
                break;
            }
        }
        scanned += lines.len();
        let is_last = lines.len() < BATCH && events.len() < limit;
        if is_last {
            return Ok(EventList { events, next_cursor: None });
        }
        if events.len() == limit || scanned >= MAX_SCANNED {
            return Ok(EventList { events, next_cursor: before.map(|before| before.to_string()) });
        }
    }
}

/// Returns the events that `query` selects as a download, read piece by piece.
pub(crate) async fn export(ctx: RequestContext, query: EventsQuery) -> Result<Response, ApiError> {
    let filter = Filter::new(&ctx, &query)?;
    // Events that come later are not in it, so that it ends.
    let last = with_store(&ctx, |store| {
        let mut newest = EventQuery::default();
        newest.limit = 1;
        Ok(store.events(&newest)?)
    })
    .await?;
    let before = last.last().map_or(1, |line| line.id.saturating_add(1));
    let lines = stream::try_unfold((ctx, filter, Some(0)), move |(ctx, filter, after)| async move {
        let Some(after) = after else { return Ok(None) };
        let mut journal = filter.journal.clone();
        (journal.after, journal.before) = (Some(after), Some(before));
        let lines = with_store(&ctx, move |store| Ok(store.events(&journal)?)).await;
        let lines = lines.map_err(|error: ApiError| std::io::Error::other(error.message))?;
        let snapshot = ctx.view.shared.registry.snapshot();
        let text = lines.iter().filter(|line| filter.event(&ctx, &snapshot, line).is_some());
        let text: String = text.flat_map(|line| [line.json.as_str(), "\n"]).collect();
        let next = lines.last().filter(|_| lines.len() == BATCH).map(|line| line.id);
        Ok::<_, std::io::Error>(Some((Bytes::from(text), (ctx, filter, next))))
    });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"events.jsonl\""),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}
