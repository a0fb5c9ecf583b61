//! `/api/v1/skills/{name}/versions`: the versions of a skill, their differences, and rollback.

use std::collections::HashSet;
use std::time::SystemTime;

use repertoire::Entry;
use repertoire::proposal::review::Reviewer;
use repertoire::proposal::{channel_source, published_identity, source_channel};
use repertoire::store::{Store, Version, skill_files};
use repertoire_app::view::{
    PublicationView, RollbackView, ServerVersionsView, VersionDiffView, VersionListView, VersionView,
};
use repertoire_model::patch;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::decision::{audit, fault};
use super::error::ApiError;
use super::records::with_store;
use super::request::part;
use super::skill;
use crate::dashboard::RequestContext;
use crate::publish::{channels_seen, published_versions, released_digests};

const PAGE: usize = 50;

/// A part of a list of versions.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct VersionsQuery {
    /// The most versions of the answer, from 1 to 500.
    #[schemars(extend("minimum" = 1, "maximum" = 500))]
    pub(crate) limit: Option<usize>,
    /// The `next_cursor` of the answer before.
    #[schemars(extend("pattern" = "^[0-9]{0,15}$"))]
    pub(crate) cursor: Option<String>,
}

/// The other version of a difference.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct DiffQuery {
    /// The version to compare with; without it, the one before.
    #[schemars(extend("maximum" = 1_000_000_000))]
    pub(crate) against: Option<u64>,
}

/// A version to restore.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct RollbackRequest {
    /// The number of the version.
    #[serde(deserialize_with = "whole_number")]
    #[schemars(extend("maximum" = 1_000_000_000))]
    pub(crate) version: u64,
    /// True if changes that no version holds are replaced too, after they are recorded.
    #[serde(default)]
    pub(crate) force: bool,
}

/// Reads a whole number, which JSON may also write as `1.0`.
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.fract() == 0.0 && (0.0..1e15).contains(&number) {
        Ok(number as u64)
    } else {
        Err(serde::de::Error::custom("a whole number is needed"))
    }
}

fn entry_of(ctx: &RequestContext, name: &str) -> Result<Entry, ApiError> {
    let snapshot = ctx.view.shared.registry.snapshot();
    skill::find(ctx, &snapshot, name).cloned()
}

fn view(version: &Version, current: Option<&str>, published: &[PublicationView]) -> VersionView {
    let mut view = VersionView::new(version);
    let named = published.iter().filter(|published| published.digest == view.digest);
    view.published = Some(named.map(|published| published.version.clone()).collect());
    view.is_current = Some(current == Some(view.digest.as_str()));
    view.is_restorable = Some(true);
    view
}

/// Returns the versions of the skill called `name`.
pub(crate) async fn list(
    ctx: &RequestContext,
    name: &str,
    query: &VersionsQuery,
) -> Result<VersionListView, ApiError> {
    let entry = entry_of(ctx, name)?;
    let current = ctx.view.shared.registry.digest(&entry).await.ok().map(|digest| digest.to_string());
    let has_digest = current.is_some();
    let channels = channels_of(ctx, &entry);
    let of = entry.clone();
    let (mut versions, published) = with_store(ctx, move |store| {
        let published = publications(store, &channels, &of)?;
        let had = match source_channel(&of.source).filter(|_| of.identity.is_none()) {
            Some(channel) => released_digests(store, &[channel.to_owned()], of.name().as_str())?,
            None => HashSet::new(),
        };
        let versions = recorded(store, &of, &channels)?;
        let view = |version: &Version| {
            let mut view = view(version, current.as_deref(), &published);
            view.is_restorable = Some(of.identity.is_some() || had.contains(&version.digest));
            view
        };
        let versions: Vec<VersionView> = versions.iter().map(view).collect();
        Ok((versions, published))
    })
    .await?;
    // A state that was restored has several versions; the newest is the current one.
    let mut has_current = false;
    for is_current in versions.iter_mut().filter_map(|version| version.is_current.as_mut()) {
        *is_current &= !has_current;
        has_current |= *is_current;
    }
    let has_unrecorded_changes = has_digest && !versions.is_empty() && !has_current;
    let page = part(versions, query.cursor.as_deref(), query.limit, PAGE)?;
    Ok(VersionListView {
        name: entry.name().to_string(),
        versions: page.items,
        server: Some(ServerVersionsView {
            total: page.total,
            next_cursor: page.next,
            has_unrecorded_changes,
            published,
        }),
    })
}

/// Returns versions of `entry` that were published under own names and released in one of `channels`.
fn publications(
    store: &dyn Store,
    channels: &[String],
    entry: &Entry,
) -> Result<Vec<PublicationView>, ApiError> {
    let published = published_versions(store, channels, entry.name().as_str())?;
    Ok(published.iter().map(PublicationView::new).collect())
}

/// Returns the channels that versions of `entry` were released in, if it is of one, and that the sender sees.
fn channels_of(ctx: &RequestContext, entry: &Entry) -> Vec<String> {
    let snapshot = ctx.view.shared.registry.snapshot();
    let channels = channels_seen(&ctx.server, &ctx.view, &snapshot, entry.name().as_str());
    let is_of_channel = channels.iter().any(|channel| *channel_source(channel) == *entry.source);
    if is_of_channel { channels } else { Vec::new() }
}

/// Returns the recorded versions of `entry`, the newest first: the versions that were released in one of
/// `channels`, if it is a skill of one.
fn recorded(store: &dyn Store, entry: &Entry, channels: &[String]) -> Result<Vec<Version>, ApiError> {
    if channels.is_empty() {
        return Ok(store.versions(&entry.record_identity())?);
    }
    let name = entry.name().as_str();
    let released = released_digests(store, channels, name)?;
    let mut versions = store.versions(&published_identity(name))?;
    versions.retain(|version| released.contains(&version.digest));
    Ok(versions)
}

/// Returns what changed in the version `number` of the skill called `name`.
pub(crate) async fn diff(
    ctx: &RequestContext,
    name: &str,
    number: u64,
    against: Option<u64>,
) -> Result<VersionDiffView, ApiError> {
    let entry = entry_of(ctx, name)?;
    let channels = channels_of(ctx, &entry);
    with_store(ctx, move |store| {
        let name = entry.name().to_string();
        let versions = recorded(store, &entry, &channels)?;
        let find = |number: u64| {
            versions
                .iter()
                .find(|version| version.number == number)
                .ok_or_else(|| ApiError::not_found(format!("there is no version {number}")))
        };
        let after = find(number)?;
        let before = match against {
            Some(number) => Some(find(number)?),
            None => {
                versions.iter().filter(|version| version.number < number).max_by_key(|version| version.number)
            }
        };
        let files = |version: &Version| skill_files(store, &version.digest);
        let old = before.map(files).transpose()?.unwrap_or_default();
        let diff = patch::diff(&old, &files(after)?);
        Ok(VersionDiffView { name, from: before.map(|version| version.number), to: Some(number), diff })
    })
    .await
}

/// Restores a version of the skill called `name`.
pub(crate) async fn rollback(
    ctx: &RequestContext,
    name: &str,
    request: RollbackRequest,
) -> Result<RollbackView, ApiError> {
    let entry = entry_of(ctx, name)?;
    let (registry, reviewer) = (ctx.view.shared.registry.clone(), ctx.reviewer());
    let (number, is_forced) = (request.version, request.force);
    let (of, channels) = (entry.clone(), channels_of(ctx, &entry));
    let restored = with_store(ctx, move |store: &dyn Store| {
        let reviewer = Reviewer::new(store, &registry, &reviewer, SystemTime::now());
        let version = reviewer.rollback(&of, number, is_forced).map_err(fault)?;
        let published = publications(store, &channels, &of)?;
        let version = view(&version, Some(&version.digest.to_string()), &published);
        Ok(RollbackView { name: of.name().to_string(), restored: number, version })
    })
    .await;
    audit(ctx, "rollback", entry.name().as_str(), restored.as_ref().err());
    let restored = restored?;
    ctx.view.shared.registry.reload().await;
    Ok(restored)
}
