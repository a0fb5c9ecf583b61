//! What there is to install.

use std::sync::Arc;

use futures_util::future::join_all;
use repertoire::{Entry, Snapshot};
use repertoire_model::Digest;
use serde::Serialize;

use crate::audience::{AT_A_TIME, Audience};
use crate::mcp::encode_path;
use crate::shelf::PublishedSkill;

/// The version of the index, by the name that clients know it by.
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
pub(super) async fn index(audience: &Audience) -> Index {
    let snapshot = audience.shared.registry.newest().await;
    let published = published(audience, &snapshot).await;
    let mut skills = Vec::with_capacity(published.len());
    for chunk in published.chunks(AT_A_TIME) {
        let mut items = Vec::with_capacity(chunk.len());
        for (entry, skill) in chunk {
            items.push(item(audience, entry, skill));
        }
        skills.extend(join_all(items).await.into_iter().flatten());
    }
    Index { schema: SCHEMA, skills }
}

async fn item(audience: &Audience, entry: &Entry, skill: &PublishedSkill) -> Option<Item> {
    let shared = &audience.shared;
    let (kind, url, digest): (_, _, Digest) = match skill.bundle.files() {
        // A skill of one file needs no archive.
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
pub(super) async fn old_index(audience: &Audience) -> OldIndex {
    let snapshot = audience.shared.registry.newest().await;
    let published = published(audience, &snapshot).await;
    let item = |(_, skill): &(&Entry, Arc<PublishedSkill>)| OldItem {
        name: skill.name.clone(),
        description: skill.description.clone(),
        files: skill.bundle.files().iter().map(|file| file.path.to_string()).collect(),
    };
    OldIndex { skills: published.iter().map(item).collect() }
}

/// Returns all published skills, sorted by name.
async fn published<'s>(audience: &Audience, snapshot: &'s Snapshot) -> Vec<(&'s Entry, Arc<PublishedSkill>)> {
    let entries: Vec<&Entry> = audience.offered(snapshot).collect();
    audience.published(&entries).await
}
