//! The published versions of a skill that a view has.

use std::collections::HashSet;

use repertoire::event::jsonl::rfc3339;
use repertoire::proposal::channel_source;
use repertoire::serve::AgentView;
use repertoire::store::{Publication, Store};
use repertoire::{Error, Snapshot, State};
use repertoire_model::Digest;
use schemars::JsonSchema;
use serde::Serialize;

use crate::server_state::ServerState;

/// A version of a skill that was published under a name of its own.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct PublishedVersion {
    /// The version, such as `1.4.0`.
    pub(crate) version: String,
    /// The digest of its files.
    pub(crate) digest: String,
    /// The person or agent that published it.
    pub(crate) author: Option<String>,
    /// The time it was released, in RFC 3339.
    pub(crate) time: String,
}

impl From<&Publication> for PublishedVersion {
    fn from(publication: &Publication) -> Self {
        Self {
            version: publication.version.clone(),
            digest: publication.digest.to_string(),
            author: publication.author.clone(),
            time: rfc3339(publication.time),
        }
    }
}

/// Returns the served channels in which `view` sees the skill called `name`.
pub(crate) fn channels_seen(
    server: &ServerState,
    view: &AgentView,
    snapshot: &Snapshot,
    name: &str,
) -> Vec<String> {
    let served = server.options.publish.iter().flat_map(|publish| &publish.channels);
    let is_seen = |channel: &&String| {
        let source = channel_source(channel);
        let mut named = snapshot.named(name).iter().filter(|entry| *entry.source == *source);
        named.any(|entry| matches!(entry.state, State::Active | State::Shadowed) && view.sees(entry))
    };
    served.filter(is_seen).cloned().collect()
}

/// Returns the digests of the skill called `name` that were ever released in `channels`.
pub(crate) fn released_digests(
    store: &dyn Store,
    channels: &[String],
    name: &str,
) -> Result<HashSet<Digest>, Error> {
    let mut digests = HashSet::new();
    for channel in channels {
        digests.extend(store.releases(channel, name)?.iter().filter_map(|release| release.change.digest));
    }
    Ok(digests)
}

/// Returns the published versions of the skill called `name` that were released in one of `channels`, the newest first.
pub(crate) fn published_versions(
    store: &dyn Store,
    channels: &[String],
    name: &str,
) -> Result<Vec<Publication>, Error> {
    let released = released_digests(store, channels, name)?;
    let mut found = store.publications(name)?;
    found.retain(|publication| released.contains(&publication.digest));
    Ok(found)
}
