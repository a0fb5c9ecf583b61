//! Reads the store and the counts that are made of it, on threads that may block.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use repertoire::registry::EntryTokens;
use repertoire::store::{DailyLoads, Store, UsageCount};
use repertoire::usage::{SkillUsage, UsageData, report};
use repertoire::{Entry, Snapshot};

use super::error::ApiError;
use crate::dashboard::{Asker, EntryTokenCounts, UsageCounts};

/// The seconds of a day.
pub(crate) const DAY: u64 = 24 * 60 * 60;

/// Runs `work` on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(ApiError::internal("the request was given up")),
    }
}

/// Runs `work` with the store of the server.
pub(crate) async fn with_store<T: Send + 'static>(
    asker: &Asker,
    work: impl FnOnce(&dyn Store) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let store = asker.options().store.clone().ok_or_else(ApiError::no_store)?;
    blocking(move || work(&*store.get()?)).await
}

/// Returns the time at the start of the day `days` days ago.
pub(crate) fn days_ago(days: u64) -> SystemTime {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let start = (now - now % DAY).saturating_sub(days.saturating_sub(1) * DAY);
    SystemTime::UNIX_EPOCH + Duration::from_secs(start)
}

/// Returns the usage of the last `days` days, as far as the sender may see it; that of a server without a store, or with one that is
/// away, is empty.
pub(crate) async fn usage(asker: &Asker, days: u64) -> Arc<UsageCounts> {
    let counts = all_usage(asker, days).await;
    if asker.sees_all() { counts } else { Arc::new(seen(asker, &counts, |_| true)) }
}

/// Returns the usage of the skills called `name` of the last `days` days, as [`usage`] does.
pub(crate) async fn usage_of(asker: &Asker, days: u64, name: &str) -> UsageCounts {
    seen(asker, &*all_usage(asker, days).await, |skill| skill == name)
}

/// Returns the part of `counts` that is about skills whose names `is_wanted` accepts, and that the sender may see.
fn seen(asker: &Asker, counts: &UsageCounts, is_wanted: impl Fn(&str) -> bool) -> UsageCounts {
    let (view, snapshot) = (&asker.view, asker.view.shared.registry.snapshot());
    let is_seen = |skill: &str, source: Option<&str>| {
        is_wanted(skill) && (asker.sees_all() || view.sees_records(&snapshot, skill, source))
    };
    let is_usage_seen = |usage: &&UsageCount| is_seen(&usage.skill, usage.source.as_deref());
    let is_day_seen = |loads: &&DailyLoads| is_seen(&loads.skill, None);
    UsageCounts {
        usage: counts.usage.iter().filter(is_usage_seen).cloned().collect(),
        daily: counts.daily.iter().filter(is_day_seen).cloned().collect(),
    }
}

async fn all_usage(asker: &Asker, days: u64) -> Arc<UsageCounts> {
    let state = &asker.view.shared.dashboard;
    if let Some(counts) = state.usage(days) {
        return counts;
    }
    let since = days_ago(days);
    let counts = with_store(asker, move |store| {
        Ok(UsageCounts { usage: store.usage(Some(since))?, daily: store.daily_loads(since)? })
    });
    let counts = Arc::new(counts.await.unwrap_or_default());
    state.keep_usage(days, Arc::clone(&counts));
    counts
}

/// Returns the tokens of the skills of `snapshot` in a catalog.
pub(crate) async fn entry_tokens(
    asker: &Asker,
    snapshot: &Arc<Snapshot>,
) -> Result<EntryTokenCounts, ApiError> {
    let (view, snapshot) = (Arc::clone(&asker.view), Arc::clone(snapshot));
    blocking(move || {
        let tokens = EntryTokens::new(view.shared.library.catalog_options());
        let count = |entry: &Entry| if entry.allows_models() { tokens.of(entry) } else { 0 };
        Ok(view.shared.dashboard.entry_tokens(&snapshot, count))
    })
    .await
}

/// Returns the usage of each skill that was used or asked for, by name.
pub(crate) fn usage_by_skill(usage: &[UsageCount]) -> HashMap<String, SkillUsage> {
    let (others, dead_after) = (BTreeMap::new(), Duration::ZERO);
    let data =
        UsageData { library: &[], others: &others, usage, sessions: 0, now: SystemTime::now(), dead_after };
    report(data).skills.into_iter().map(|skill| (skill.name.clone(), skill)).collect()
}
