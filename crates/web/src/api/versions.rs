//! `/api/v1/skills/{name}/versions`: the versions of a skill, their differences, and rollback.

use std::collections::HashSet;
use std::time::SystemTime;

use axum::Extension;
use repertoire::Entry;
use repertoire::event::jsonl::rfc3339;
use repertoire::proposal::review::Reviewer;
use repertoire::proposal::{channel_source, published_identity, source_channel};
use repertoire::store::{Store, Version, skill_files};
use repertoire_model::patch;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::decision::{audit, fault};
use super::error::ApiError;
use super::records::with_store;
use super::request::{Answer, JsonBody, Params, PathParams, part};
use super::skill;
use crate::dashboard::Asker;
use crate::publish::{PublishedVersion, channels_seen, published_versions, released_digests};

/// The number of versions on a page.
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

/// A version of a skill.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct VersionRow {
    /// The number, from 1.
    pub(crate) number: u64,
    /// The time it was recorded, in RFC 3339.
    pub(crate) time: String,
    /// The way in which it came to be: `edit`, `add`, `update`, `proposal`, `rollback` or `publish`.
    pub(crate) origin: String,
    /// The person or agent that changed it.
    pub(crate) author: Option<String>,
    /// The digest of its files.
    pub(crate) digest: String,
    /// True if the skill is as in this version.
    pub(crate) is_current: bool,
    /// The names under which it was published, such as `1.4.0`.
    pub(crate) published: Vec<String>,
    /// True if a reviewer can restore it: the skill has a directory, or its channel had the version.
    pub(crate) is_restorable: bool,
}

/// The versions of a skill, the newest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct VersionList {
    /// The skill.
    pub(crate) name: String,
    /// The versions.
    pub(crate) versions: Vec<VersionRow>,
    /// The number of all versions.
    pub(crate) total: usize,
    /// The cursor of the next part; absent for the last one.
    pub(crate) next_cursor: Option<String>,
    /// True if the skill has changes that no version holds.
    pub(crate) has_unrecorded_changes: bool,
    /// The versions that were published under names of their own, the newest first.
    pub(crate) published: Vec<PublishedVersion>,
}

/// The other version of a difference.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct DiffQuery {
    /// The version to compare with; without it, the one before.
    #[schemars(extend("maximum" = 1_000_000_000))]
    pub(crate) against: Option<u64>,
}

/// The difference of two versions.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct VersionDiff {
    /// The older version; absent if there is none.
    pub(crate) before: Option<u64>,
    /// The newer version.
    pub(crate) after: u64,
    /// The unified diff.
    pub(crate) diff: String,
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

/// Answers with the versions of the skill called `name`.
pub(crate) async fn get(
    Extension(asker): Extension<Asker>,
    PathParams(name): PathParams<String>,
    Params(query): Params<VersionsQuery>,
) -> Result<Answer<VersionList>, ApiError> {
    Ok(Answer(list(&asker, &name, &query).await?))
}

/// Answers with what changed in a version.
pub(crate) async fn get_diff(
    Extension(asker): Extension<Asker>,
    PathParams((name, version)): PathParams<(String, u64)>,
    Params(query): Params<DiffQuery>,
) -> Result<Answer<VersionDiff>, ApiError> {
    Ok(Answer(diff(&asker, &name, version, query.against).await?))
}

/// Restores a version of the skill called `name`.
pub(crate) async fn post_rollback(
    Extension(asker): Extension<Asker>,
    PathParams(name): PathParams<String>,
    JsonBody(request): JsonBody<RollbackRequest>,
) -> Result<Answer<VersionRow>, ApiError> {
    asker.expect_write(None)?;
    Ok(Answer(rollback(&asker, &name, request).await?))
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

fn entry_of(asker: &Asker, name: &str) -> Result<Entry, ApiError> {
    let snapshot = asker.view.shared.registry.snapshot();
    skill::find(asker, &snapshot, name).cloned()
}

fn row(version: &Version, current: Option<&str>, published: &[PublishedVersion]) -> VersionRow {
    let digest = version.digest.to_string();
    let named = published.iter().filter(|published| published.digest == digest);
    VersionRow {
        published: named.map(|published| published.version.clone()).collect(),
        number: version.number,
        time: rfc3339(version.time),
        origin: version.origin.as_str().to_owned(),
        author: version.author.clone(),
        is_current: current == Some(digest.as_str()),
        digest,
        is_restorable: true,
    }
}

/// Returns the versions of the skill called `name`.
pub(crate) async fn list(asker: &Asker, name: &str, query: &VersionsQuery) -> Result<VersionList, ApiError> {
    let entry = entry_of(asker, name)?;
    let current = asker.view.shared.registry.digest(&entry).await.ok().map(|digest| digest.to_string());
    let has_digest = current.is_some();
    let channels = channels_of(asker, &entry);
    let of = entry.clone();
    let (mut rows, published) = with_store(asker, move |store| {
        let published = published_rows(store, &channels, &of)?;
        let had = match source_channel(&of.source).filter(|_| of.identity.is_none()) {
            Some(channel) => released_digests(store, &[channel.to_owned()], of.name().as_str())?,
            None => HashSet::new(),
        };
        let versions = recorded(store, &of, &channels)?;
        let row = |version: &Version| VersionRow {
            is_restorable: of.identity.is_some() || had.contains(&version.digest),
            ..row(version, current.as_deref(), &published)
        };
        let rows: Vec<VersionRow> = versions.iter().map(row).collect();
        Ok((rows, published))
    })
    .await?;
    // A state that was restored has several versions; the newest is the current one.
    let mut has_current = false;
    for row in &mut rows {
        row.is_current &= !has_current;
        has_current |= row.is_current;
    }
    let has_unrecorded_changes = has_digest && !rows.is_empty() && !has_current;
    let page = part(rows, query.cursor.as_deref(), query.limit, PAGE)?;
    Ok(VersionList {
        name: entry.name().to_string(),
        versions: page.items,
        total: page.total,
        next_cursor: page.next,
        has_unrecorded_changes,
        published,
    })
}

/// Returns the versions of `entry` that were published under names of their own and released in one of `channels`.
fn published_rows(
    store: &dyn Store,
    channels: &[String],
    entry: &Entry,
) -> Result<Vec<PublishedVersion>, ApiError> {
    let published = published_versions(store, channels, entry.name().as_str())?;
    Ok(published.iter().map(PublishedVersion::from).collect())
}

/// Returns the channels that the versions of `entry` were released in, if it is a skill of one, and that the sender sees.
fn channels_of(asker: &Asker, entry: &Entry) -> Vec<String> {
    let snapshot = asker.view.shared.registry.snapshot();
    let channels = channels_seen(&asker.server, &asker.view, &snapshot, entry.name().as_str());
    let is_of_channel = channels.iter().any(|channel| *channel_source(channel) == *entry.source);
    if is_of_channel { channels } else { Vec::new() }
}

/// Returns the recorded versions of `entry`, the newest first: those that were released in one of `channels`, if it is a skill of one.
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
    asker: &Asker,
    name: &str,
    number: u64,
    against: Option<u64>,
) -> Result<VersionDiff, ApiError> {
    let entry = entry_of(asker, name)?;
    let channels = channels_of(asker, &entry);
    with_store(asker, move |store| {
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
        Ok(VersionDiff { before: before.map(|version| version.number), after: number, diff })
    })
    .await
}

/// Restores a version of the skill called `name`.
pub(crate) async fn rollback(
    asker: &Asker,
    name: &str,
    request: RollbackRequest,
) -> Result<VersionRow, ApiError> {
    let entry = entry_of(asker, name)?;
    let (registry, reviewer) = (asker.view.shared.registry.clone(), asker.reviewer());
    let (number, is_forced) = (request.version, request.force);
    let (of, channels) = (entry.clone(), channels_of(asker, &entry));
    let restored = with_store(asker, move |store: &dyn Store| {
        let reviewer = Reviewer::new(store, &registry, &reviewer, SystemTime::now());
        let version = reviewer.rollback(&of, number, is_forced).map_err(fault)?;
        let published = published_rows(store, &channels, &of)?;
        Ok(row(&version, Some(&version.digest.to_string()), &published))
    })
    .await;
    audit(asker, "rollback", entry.name().as_str(), restored.as_ref().err());
    let restored = restored?;
    asker.view.shared.registry.reload().await;
    Ok(restored)
}
