//! The two versions of the index.

use std::sync::Arc;

use futures_util::future::join_all;
use repertoire::serve::{AgentView, PUBLISHED_AT_ONCE, PublishedSkill, encode_path};
use repertoire::{Entry, Snapshot};
use repertoire_model::Digest;
use serde_json::{Value, json};

use super::archive::{ArchiveKind, Archives};

/// The schema by which clients recognize the version.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// Returns the index, version 0.2.0.
pub(super) async fn index(archives: &Archives, view: &AgentView) -> Value {
    let snapshot = view.shared.registry.newest().await;
    let published = published(view, &snapshot).await;
    let mut skills = Vec::with_capacity(published.len());
    for chunk in published.chunks(PUBLISHED_AT_ONCE) {
        let items = chunk.iter().map(|(entry, skill)| item(archives, view, entry, skill));
        skills.extend(join_all(items).await.into_iter().flatten());
    }
    json!({"$schema": SCHEMA, "skills": skills})
}

async fn item(archives: &Archives, view: &AgentView, entry: &Entry, skill: &PublishedSkill) -> Option<Value> {
    let (kind, url, digest): (_, _, Digest) = match skill.bundle.files() {
        // A single file needs no archive.
        [manifest] => {
            ("skill-md", format!("{}/{}", skill.name, encode_path(manifest.path.as_str())), manifest.digest)
        }
        _ => {
            let digest = archives.digest(&view.shared.registry, entry, skill, ArchiveKind::Skill).await?;
            ("archive", format!("{}.tar.gz", skill.name), digest)
        }
    };
    let PublishedSkill { name, description, .. } = skill;
    let digest = digest.to_string();
    Some(json!({"name": name, "type": kind, "description": description, "url": url, "digest": digest}))
}

/// Returns the index, version 0.1.0. opencode downloads a skill again if its `version` is another one.
pub(super) async fn old_index(view: &AgentView) -> Value {
    let snapshot = view.shared.registry.newest().await;
    let published = published(view, &snapshot).await;
    let item = |(_, skill): &(&Entry, Arc<PublishedSkill>)| {
        let files: Vec<&str> = skill.bundle.files().iter().map(|file| file.path.as_str()).collect();
        let version = skill.digest.to_hex();
        json!({"name": skill.name, "description": skill.description, "version": version, "files": files})
    };
    json!({"skills": published.iter().map(item).collect::<Value>()})
}

/// Returns all published skills, sorted by name.
pub(super) async fn published<'s>(
    view: &AgentView,
    snapshot: &'s Snapshot,
) -> Vec<(&'s Entry, Arc<PublishedSkill>)> {
    let entries: Vec<&Entry> = view.offered(snapshot).collect();
    view.publish_all(&entries).await
}
