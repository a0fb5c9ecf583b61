//! Reads the store and the counts that are made of it, on threads that may block.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use repertoire::registry::EntryTokens;
use repertoire::store::{Store, UsageCount};
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
    if asker.sees_all() {
        return counts;
    }
    let snapshot = asker.view.shared.registry.snapshot();
    let visible = asker.view.visible(&snapshot);
    let names: Vec<&str> = visible.entries().map(|entry| entry.name().as_str()).collect();
    Arc::new(seen(asker, &snapshot, &counts, &names))
}

/// Returns the usage of the skills called `name` of the last `days` days, as [`usage`] does.
pub(crate) async fn usage_of(asker: &Asker, days: u64, name: &str) -> UsageCounts {
    let snapshot = asker.view.shared.registry.snapshot();
    seen(asker, &snapshot, &*all_usage(asker, days).await, &[name])
}

/// Returns the part of `counts` that is about the skills called one of `names`, which are sorted, and that the sender may see.
fn seen(asker: &Asker, snapshot: &Snapshot, counts: &UsageCounts, names: &[&str]) -> UsageCounts {
    let is_seen = |skill: &str, source: Option<&str>| {
        asker.sees_all() || asker.view.sees_records(snapshot, skill, source)
    };
    let usage = of_skills(&counts.usage, names, |usage| &usage.skill);
    let daily = of_skills(&counts.daily, names, |loads| &loads.skill);
    UsageCounts {
        usage: usage.filter(|usage| is_seen(&usage.skill, usage.source.as_deref())).cloned().collect(),
        daily: daily.filter(|loads| is_seen(&loads.skill, None)).cloned().collect(),
    }
}

/// Returns those of `rows` whose skill is one of `names`; both are sorted by name.
fn of_skills<'a, T>(
    rows: &'a [T],
    names: &[&str],
    skill: impl Fn(&T) -> &str,
) -> impl Iterator<Item = &'a T> {
    let mut names = names.iter().copied().peekable();
    rows.iter().filter(move |row| {
        let skill = skill(row);
        while names.next_if(|name| *name < skill).is_some() {}
        names.peek() == Some(&skill)
    })
}

async fn all_usage(asker: &Asker, days: u64) -> Arc<UsageCounts> {
    let state = &asker.view.shared.dashboard;
    if let Some(counts) = state.usage(days) {
        return counts;
    }
    let since = days_ago(days);
    let counts = with_store(asker, move |store| {
        let (mut usage, mut daily) = (store.usage(Some(since))?, store.daily_loads(since)?);
        usage.sort_by(|a, b| a.skill.cmp(&b.skill));
        daily.sort_by(|a, b| a.skill.cmp(&b.skill));
        Ok(UsageCounts { usage, daily })
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

#[cfg(test)]
mod tests {
    use super::of_skills;

    #[test]
    fn rows_are_found_by_sorted_names() {
        let rows = [("a", 1), ("a", 2), ("c", 3), ("d", 4), ("d", 5), ("f", 6)];
        let found =
            |names: &[&str]| -> Vec<i32> { of_skills(&rows, names, |row| row.0).map(|row| row.1).collect() };
        assert_eq!(found(&["a", "b", "d", "d", "e"]), [1, 2, 4, 5]);
        assert_eq!(found(&["f", "g"]), [6]);
        assert!(found(&[]).is_empty() && found(&["b"]).is_empty());
    }
}
