//! Reads the store and the counts that are made of it, on threads that may block.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use repertoire::registry::EntryTokens;
use repertoire::store::{Store, UsageCount};
use repertoire::usage::{SkillUsage, UsageData, identify, report};
use repertoire::{Entry, Snapshot};

use super::error::ApiError;
use crate::dashboard::{EntryTokenCounts, RequestContext, UsageCounts};

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
    ctx: &RequestContext,
    work: impl FnOnce(&dyn Store) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let store = ctx.options().store.clone().ok_or_else(ApiError::no_store)?;
    blocking(move || work(&*store.get()?)).await
}

pub(crate) fn days_ago(days: u64) -> SystemTime {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let start = (now - now % DAY).saturating_sub(days.saturating_sub(1) * DAY);
    SystemTime::UNIX_EPOCH + Duration::from_secs(start)
}

/// Returns the usage of the last `days` days, of whatever skills there are: empty without a store, and as
/// counted before if it is away. Only the rows of skills that the sender sees are looked at.
pub(crate) async fn usage(ctx: &RequestContext, days: u64) -> Arc<UsageCounts> {
    let state = &ctx.server.dashboard;
    if let Some(counts) = state.usage(days) {
        return counts;
    }
    let (since, snapshot) = (days_ago(days), ctx.view.shared.registry.snapshot());
    let counts = with_store(ctx, move |store| {
        let (mut usage, mut daily) = (store.usage(Some(since))?, store.daily_loads(since)?);
        identify(&snapshot, &mut usage, &mut daily);
        Ok(UsageCounts { usage, daily })
    });
    // Without the store, what was counted before is better than nothing.
    let counts = match counts.await {
        Ok(counts) => Arc::new(counts),
        Err(_) => state.last_usage(days).unwrap_or_default(),
    };
    state.keep_usage(days, Arc::clone(&counts));
    counts
}

/// Returns the usage of `entry` of the last `days` days, as [`usage`] does.
pub(crate) async fn usage_of(ctx: &RequestContext, days: u64, entry: &Entry) -> UsageCounts {
    let counts = usage(ctx, days).await;
    let identity = Some(entry.record_identity());
    UsageCounts {
        usage: counts.usage.iter().filter(|usage| usage.identity == identity).cloned().collect(),
        daily: counts.daily.iter().filter(|loads| loads.identity == identity).cloned().collect(),
    }
}

/// Returns the tokens of the skills of `snapshot` in a catalog.
pub(crate) async fn entry_tokens(
    ctx: &RequestContext,
    snapshot: &Arc<Snapshot>,
) -> Result<EntryTokenCounts, ApiError> {
    let (server, snapshot) = (Arc::clone(&ctx.server), Arc::clone(snapshot));
    blocking(move || {
        let tokens = EntryTokens::new(server.served.library.catalog_options());
        let count = |entry: &Entry| if entry.allows_models() { tokens.of(entry) } else { 0 };
        Ok(server.dashboard.entry_tokens(&snapshot, count))
    })
    .await
}

/// Returns the usage of each skill that was used, by identity.
pub(crate) fn usage_by_skill(usage: &[UsageCount]) -> HashMap<String, SkillUsage> {
    let (others, dead_after) = (BTreeMap::new(), Duration::ZERO);
    let data =
        UsageData { library: &[], others: &others, usage, sessions: 0, now: SystemTime::now(), dead_after };
    let skills = report(data).skills.into_iter();
    skills.filter_map(|skill| Some((skill.identity.clone()?, skill))).collect()
}
