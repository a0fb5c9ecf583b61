//! Skills that `rep disable` disabled for clients: for single ones, which get no links to them, and by the clients' own switches.

use std::collections::BTreeSet;

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
    #[serde(default)]
    switches: Vec<SwitchJson>,
}

#[derive(Deserialize)]
struct SwitchJson {
    client: String,
    skill: String,
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

/// Returns the skills that are disabled for single clients.
pub(crate) fn disabled_for_clients(places: &Places) -> Vec<DisabledClient> {
    let disabled = |change: ChangeJson| {
        let (pattern, client) = (Pattern::new(&change.pattern).ok()?, change.client?);
        Some(DisabledClient { pattern, client })
    };
    changes(places).into_iter().filter_map(disabled).collect()
}

/// Returns the names of the skills that the switches of `client` were turned off for.
pub(crate) fn switched_off(places: &Places, client: &str) -> BTreeSet<String> {
    let switches = changes(places).into_iter().flat_map(|change| change.switches);
    switches.filter(|switch| switch.client == client).map(|switch| switch.skill).collect()
}

/// Returns the recorded changes of the user and the project. A record that cannot be read counts as none; the commands that write it
/// report that.
fn changes(places: &Places) -> Vec<ChangeJson> {
    let of_owner = |owner: Owner| {
        let path = places.base(owner)?.join(DISABLED_FILE);
        let text = record_file::read(places, owner, &path).ok()??;
        Some(record_file::parse::<DisabledJson>(&text).ok()?.disabled)
    };
    [Owner::User, Owner::Project].into_iter().filter_map(of_owner).flatten().collect()
}
