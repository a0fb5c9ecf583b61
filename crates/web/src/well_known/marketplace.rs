//! The marketplace of plugins: every skill as a plugin, in an archive.

use futures_util::future::join_all;
use repertoire::Entry;
use repertoire::serve::{AgentView, PUBLISHED_AT_ONCE, PublishedSkill};
use repertoire_model::plugin::is_plugin_name;
use serde_json::{Value, json};

use super::archive::{ArchiveKind, Archives};
use super::index::published;

/// Returns the marketplace of a server at `origin`, whose paths begin with `prefix`.
///
/// A plugin has no version of its own: clients take its digest for one and update it whenever it changes.
pub(super) async fn marketplace(archives: &Archives, view: &AgentView, origin: &str, prefix: &str) -> Value {
    let snapshot = view.shared.registry.newest().await;
    let published = published(view, &snapshot).await;
    let mut plugins = Vec::with_capacity(published.len());
    for chunk in published.chunks(PUBLISHED_AT_ONCE) {
        let entries = chunk.iter().filter(|(_, skill)| is_plugin_name(&skill.name));
        let items = entries.map(|(entry, skill)| plugin(archives, view, origin, prefix, entry, skill));
        plugins.extend(join_all(items).await.into_iter().flatten());
    }
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let description = format!("The skills of {host}");
    json!({"name": name(host), "description": description, "owner": {"name": host}, "plugins": plugins})
}

async fn plugin(
    archives: &Archives,
    view: &AgentView,
    origin: &str,
    prefix: &str,
    entry: &Entry,
    skill: &PublishedSkill,
) -> Option<Value> {
    let digest = archives.digest(&view.shared.registry, entry, skill, ArchiveKind::Plugin).await?;
    let PublishedSkill { name, description, .. } = skill;
    let url = format!("{origin}{prefix}/.claude-plugin/plugins/{name}.zip");
    let source = json!({"source": "archive", "url": url, "sha256": digest.to_hex()});
    Some(json!({"name": name, "description": description, "source": source}))
}

/// Returns the name of the marketplace of `host`: letters, digits and hyphens.
fn name(host: &str) -> String {
    let kept = host.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let name: String = kept.collect();
    name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marketplace_is_called_as_its_host() {
        for (host, expect) in [("Skills.Example.com:8443", "skills-example-com-8443"), ("[::1]:80", "1-80")] {
            assert_eq!(name(host), expect);
        }
    }
}
