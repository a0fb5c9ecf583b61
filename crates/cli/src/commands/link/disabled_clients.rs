//! Skills that `rep disable --agent CLIENT` disabled for single clients, which get no links to them.

use repertoire::Entry;
use repertoire_model::Pattern;
use serde::Deserialize;

use super::record_file;
use crate::clients::{Client, Owner, Places};

/// The path of the record of disabled skills, in a project or a home directory.
pub(crate) const DISABLED_FILE: &str = ".agents/.repertoire-disabled.json";

#[derive(Deserialize)]
struct DisabledJson {
    disabled: Vec<ChangeJson>,
}

#[derive(Deserialize)]
struct ChangeJson {
    pattern: String,
    client: Option<String>,
}

/// Skills that are disabled for one client alone.
pub(crate) struct DisabledClient {
    /// The skills.
    pub(crate) pattern: Pattern,
    /// The client.
    pub(crate) client: String,
}

impl DisabledClient {
    /// Returns `true` if `entry` is disabled for `client`.
    pub(super) fn is_about(&self, entry: &Entry, client: &Client) -> bool {
        self.client == client.id && self.pattern.matches(&entry.source, entry.name().as_str())
    }
}

/// Returns the skills that are disabled for single clients. A record that cannot be read counts as none; the commands that write it
/// report that.
pub(crate) fn disabled_for_clients(places: &Places) -> Vec<DisabledClient> {
    let of_owner = |owner: Owner| {
        let path = places.base(owner)?.join(DISABLED_FILE);
        let text = record_file::read(places, owner, &path).ok()??;
        let record: DisabledJson = record_file::parse(&text).ok()?;
        let disabled = |change: ChangeJson| {
            let (pattern, client) = (Pattern::new(&change.pattern).ok()?, change.client?);
            Some(DisabledClient { pattern, client })
        };
        Some(record.disabled.into_iter().filter_map(disabled).collect::<Vec<_>>())
    };
    [Owner::User, Owner::Project].into_iter().filter_map(of_owner).flatten().collect()
}
