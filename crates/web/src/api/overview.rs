//! `GET /api/v1/overview`: the library at a glance.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use repertoire::event::jsonl::rfc3339;
use repertoire::unused::{UnusedTime, present_since, recording_began};
use repertoire::usage::{LibrarySkill, UsageData, report};
use repertoire::{Entry, Severity, Snapshot, State};
use schemars::JsonSchema;
use serde::Serialize;

use super::error::ApiError;
use super::records::{self, DAY, blocking, with_store};
use super::skills::{Facet, USAGE_DAYS, visible};
use super::{proposals, records::entry_tokens};
use crate::dashboard::{RequestContext, UsageCounts};

/// Maximum skills in the lists of most used and of unused skills.
const MAX_LISTED: usize = 6;

/// The library at a glance.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Overview {
    /// The number of the snapshot, for senders that see the whole library.
    pub(crate) snapshot: Option<u64>,
    /// The number of skills by state.
    pub(crate) states: Vec<Facet>,
    /// The number of skills by source.
    pub(crate) sources: Vec<Facet>,
    /// The number of skills that agents are offered.
    pub(crate) offered: usize,
    /// The number of skills with errors.
    pub(crate) with_errors: usize,
    /// The number of skills with warnings and without errors.
    pub(crate) with_warnings: usize,
    /// The catalog.
    pub(crate) catalog: CatalogSize,
    /// The loads of each of the last 30 days, today last.
    pub(crate) daily_loads: Vec<u64>,
    /// The loads of the last 30 days.
    pub(crate) loads: u64,
    /// The reads of files in the last 30 days.
    pub(crate) reads: u64,
    /// The failed calls of the last 30 days.
    pub(crate) failures: u64,
    /// The tokens that were served in the last 30 days.
    pub(crate) tokens: u64,
    /// The skills that were loaded most.
    pub(crate) top: Vec<TopSkill>,
    /// The time of `dead`: 30 days, or less if recording began later; absent if nothing was recorded.
    pub(crate) unused_time: Option<String>,
    /// Skills that were in catalogs all that time and were not used.
    pub(crate) dead: Vec<DeadSkill>,
    /// The number of such skills.
    pub(crate) dead_total: usize,
    /// The tokens that such skills take in every catalog.
    pub(crate) dead_tokens: u64,
    /// The number of proposals that wait for a decision.
    pub(crate) pending_proposals: usize,
}

/// The size of the catalog.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct CatalogSize {
    /// The tokens.
    pub(crate) tokens: usize,
    /// The budget; absent without one.
    pub(crate) budget: Option<usize>,
    /// The number of skills whose description is shortened or left out.
    pub(crate) shortened: usize,
    /// The format.
    pub(crate) format: String,
}

/// A skill that is loaded often.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct TopSkill {
    /// The skill.
    pub(crate) name: String,
    /// The loads.
    pub(crate) loads: u64,
    /// The tokens that were served.
    pub(crate) tokens: u64,
}

/// A skill that is not used.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct DeadSkill {
    /// The skill.
    pub(crate) name: String,
    /// The time of its last use; absent if it was never used.
    pub(crate) last_use: Option<String>,
    /// The tokens of its entry in a catalog.
    pub(crate) catalog_tokens: u64,
}

/// Returns the library at a glance.
pub(crate) async fn overview(ctx: &RequestContext) -> Result<Overview, ApiError> {
    let snapshot = ctx.view.shared.registry.snapshot();
    let all = visible(ctx, &snapshot);
    let tokens = entry_tokens(ctx, &snapshot).await?;
    let usage = records::usage(ctx, USAGE_DAYS).await;
    let offered: Vec<&Entry> = all.iter().copied().filter(|entry| entry.is_offered()).collect();
    let library: Vec<LibrarySkill> = offered
        .iter()
        .map(|entry| LibrarySkill {
            identity: entry.record_identity(),
            name: entry.name().to_string(),
            source: entry.source.to_string(),
            references: Vec::new(),
            catalog_tokens: snapshot
                .index_of(entry)
                .and_then(|index| tokens.get(index))
                .copied()
                .unwrap_or_default(),
        })
        .collect();
    let identities: HashSet<&str> = library.iter().map(|skill| skill.identity.as_str()).collect();
    let is_own = |identity: &str| identities.contains(identity);
    let own = usage.usage.iter().filter(|usage| usage.identity.as_deref().is_some_and(is_own));
    let own: Vec<_> = own.cloned().collect();
    let others = BTreeMap::new();
    let dead_after = Duration::from_secs(USAGE_DAYS * DAY);
    let now = SystemTime::now();
    let mut used =
        report(UsageData { library: &library, others: &others, usage: &own, sessions: 0, now, dead_after });
    let dead: HashSet<&str> = used.dead.iter().map(|skill| skill.name.as_str()).collect();
    let entries = offered.iter().filter(|entry| dead.contains(entry.name().as_str()));
    let entries = entries.map(|entry| (*entry).clone()).collect();
    let time = UnusedTime { began: None, length: dead_after, now };
    let (unused, settled) = unused(ctx, time, entries, &usage).await;
    used.dead.retain(|skill| settled.contains(&skill.name));
    let sum = |of: fn(&repertoire::usage::SkillUsage) -> u64| used.skills.iter().map(of).sum();
    let with = |severity| all.iter().filter(|entry| worst(entry) == Some(severity)).count();
    let top = used.skills.iter().filter(|skill| skill.loads > 0).take(MAX_LISTED);
    let top =
        top.map(|skill| TopSkill { name: skill.name.clone(), loads: skill.loads, tokens: skill.tokens });
    let dead = used.dead.iter().take(MAX_LISTED).map(|skill| DeadSkill {
        name: skill.name.clone(),
        last_use: skill.last_use.map(rfc3339),
        catalog_tokens: skill.catalog_tokens,
    });
    Ok(Overview {
        snapshot: ctx.sees_all().then(|| snapshot.number()),
        states: counted(all.iter().map(|entry| entry.state.as_str())),
        sources: counted(all.iter().map(|entry| &*entry.source)),
        offered: offered.len(),
        with_errors: with(Severity::Error),
        with_warnings: with(Severity::Warning),
        catalog: catalog(ctx, &snapshot).await?,
        daily_loads: daily(&usage.daily, is_own, now),
        loads: sum(|skill| skill.loads),
        reads: sum(|skill| skill.reads),
        failures: sum(|skill| skill.failures),
        tokens: sum(|skill| skill.tokens),
        top: top.collect(),
        unused_time: unused.began.is_some().then(|| unused.to_string()),
        dead: dead.collect(),
        dead_total: used.dead.len(),
        dead_tokens: used.dead.iter().map(|skill| skill.catalog_tokens).sum(),
        pending_proposals: proposals::pending(ctx).await,
    })
}

/// Returns `time` with its beginning, and the names of those of `entries` that may be called unused; none if
/// nothing was recorded.
async fn unused(
    ctx: &RequestContext,
    time: UnusedTime,
    entries: Vec<Entry>,
    usage: &Arc<UsageCounts>,
) -> (UnusedTime, BTreeSet<String>) {
    let (usage, unrecorded) = (Arc::clone(usage), time.clone());
    let judged = with_store(ctx, move |store| {
        let time = UnusedTime { began: recording_began(store, &usage.usage)?, ..time };
        if time.began.is_none() {
            return Ok((time, BTreeSet::new()));
        }
        let entries: Vec<&Entry> = entries.iter().collect();
        let since = present_since(Some(store), &entries)?;
        let settled = entries.iter().zip(since).filter(|(_, since)| time.covers(*since));
        let names = settled.map(|(entry, _)| entry.name().to_string()).collect();
        Ok((time, names))
    });
    judged.await.unwrap_or_else(|_| (unrecorded, BTreeSet::new()))
}

fn worst(entry: &Entry) -> Option<Severity> {
    let found = entry.diagnostics().map(|found| found.severity).max();
    if entry.state == State::Quarantined { Some(Severity::Error) } else { found }
}

fn counted<'a>(values: impl Iterator<Item = &'a str>) -> Vec<Facet> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let mut facets: Vec<Facet> =
        counts.into_iter().map(|(value, skills)| Facet { value: value.to_owned(), skills }).collect();
    facets.sort_by(|a, b| (b.skills, &a.value).cmp(&(a.skills, &b.value)));
    facets
}

/// Returns the loads of each of the last days of the skills whose identities `is_own` accepts, today last.
fn daily(
    loads: &[repertoire::store::DailyLoads],
    is_own: impl Fn(&str) -> bool,
    now: SystemTime,
) -> Vec<u64> {
    let days = USAGE_DAYS as usize;
    let mut sums = vec![0; days];
    for (identity, loads) in repertoire::usage::loads_per_day(loads, now, days) {
        if is_own(identity) {
            sums.iter_mut().zip(loads).for_each(|(sum, loads)| *sum += loads);
        }
    }
    sums
}

/// Returns the size of the catalog that the sender's agents get.
async fn catalog(ctx: &RequestContext, snapshot: &Arc<Snapshot>) -> Result<CatalogSize, ApiError> {
    let (view, snapshot) = (Arc::clone(&ctx.view), Arc::clone(snapshot));
    blocking(move || {
        let mut options = view.session.catalog_options();
        options.highlight = None;
        let visible = view.visible(&snapshot);
        let (tokens, shortened) = match view.catalog_size(visible.fingerprint()) {
            Some(size) => size,
            None => {
                let catalog = snapshot.catalog_of(&options, |entry| visible.contains(entry));
                let catalog = catalog.map_err(|error| ApiError::internal(error.to_string()))?;
                let tokens = catalog.report.tokens.unwrap_or_else(|| options.tokenizer.count(&catalog.text));
                let size = (tokens, catalog.report.shortened());
                view.keep_catalog_size(visible.fingerprint(), size);
                size
            }
        };
        let (budget, format) = (options.budget_tokens, options.format.as_str().to_owned());
        Ok(CatalogSize { tokens, budget, shortened, format })
    })
    .await
}
