//! The published versions of a skill that a view has.

use std::collections::HashSet;

use repertoire::proposal::channel_source;
use repertoire::serve::AgentView;
use repertoire::store::{Publication, Store};
use repertoire::{Error, Snapshot, State};
use repertoire_model::Digest;

use crate::server_state::ServerState;

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

/// Returns the published versions of the skill `name` that were released in one of `channels`, newest first.
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
