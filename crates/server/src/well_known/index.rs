//! The two versions of the index.

use std::sync::Arc;

use futures_util::future::join_all;
use repertoire::{Entry, Snapshot};
use repertoire_model::Digest;
use serde::Serialize;

use crate::agent_view::{AgentView, PUBLISHED_AT_ONCE};
use crate::mcp::encode_path;
use crate::published_skills::PublishedSkill;

/// The schema by which clients recognize the version.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// The index, version 0.2.0.
#[derive(Debug, Serialize)]
pub(super) struct Index {
    #[serde(rename = "$schema")]
    schema: &'static str,
    skills: Vec<Item>,
}

#[derive(Debug, Serialize)]
struct Item {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    description: String,
    url: String,
    digest: String,
}

/// The index, version 0.1.0.
#[derive(Debug, Serialize)]
pub(super) struct OldIndex {
    skills: Vec<OldItem>,
}

#[derive(Debug, Serialize)]
struct OldItem {
    name: String,
    description: String,
    files: Vec<String>,
}

/// Returns the index, version 0.2.0.
pub(super) async fn index(view: &AgentView) -> Index {
    let snapshot = view.shared.registry.newest().await;
    let published = published(view, &snapshot).await;
    let mut skills = Vec::with_capacity(published.len());
    for chunk in published.chunks(PUBLISHED_AT_ONCE) {
        let mut items = Vec::with_capacity(chunk.len());
        for (entry, skill) in chunk {
            items.push(item(view, entry, skill));
        }
        skills.extend(join_all(items).await.into_iter().flatten());
    }
    Index { schema: SCHEMA, skills }
}

async fn item(view: &AgentView, entry: &Entry, skill: &PublishedSkill) -> Option<Item> {
    let shared = &view.shared;
    let (kind, url, digest): (_, _, Digest) = match skill.bundle.files() {
        // A single file needs no archive.
        [manifest] => {
            ("skill-md", format!("{}/{}", skill.name, encode_path(manifest.path.as_str())), manifest.digest)
        }
        _ => {
            let digest = shared.archives.digest(&shared.registry, entry, skill).await?;
            ("archive", format!("{}.tar.gz", skill.name), digest)
        }
    };
    let (name, description) = (skill.name.clone(), skill.description.clone());
    Some(Item { name, kind, description, url, digest: digest.to_string() })
}

/// Returns the index, version 0.1.0.
pub(super) async fn old_index(view: &AgentView) -> OldIndex {
    let snapshot = view.shared.registry.newest().await;
    let published = published(view, &snapshot).await;
    let item = |(_, skill): &(&Entry, Arc<PublishedSkill>)| OldItem {
        name: skill.name.clone(),
        description: skill.description.clone(),
        files: skill.bundle.files().iter().map(|file| file.path.to_string()).collect(),
    };
    OldIndex { skills: published.iter().map(item).collect() }
}

/// Returns all published skills, sorted by name.
async fn published<'s>(view: &AgentView, snapshot: &'s Snapshot) -> Vec<(&'s Entry, Arc<PublishedSkill>)> {
    let entries: Vec<&Entry> = view.offered(snapshot).collect();
    view.publish_all(&entries).await
}
