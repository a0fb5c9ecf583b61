//! Skills that `rep disable` disabled for clients: for single ones, which get no links, and by switches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use repertoire::discovery::{Place, Tier};
use repertoire::record::RecordKind;
use repertoire::registry::package_of;
use repertoire_model::Pattern;

use crate::disable::RecordedChange;
use crate::record_file;
use crate::{Client, ClientReader, Owner, Places, SearchedPlaces, projects, readers};

/// Skills that are disabled for one client alone.
pub struct DisabledClient {
    /// The skills.
    pub pattern: Pattern,
    /// The client.
    pub client: String,
}

impl DisabledClient {
    /// Returns `true` if the skill `name` of `source` is disabled for `client`.
    pub(crate) fn is_about(&self, source: &str, name: &str, client: &Client) -> bool {
        self.client == client.id && self.pattern.matches(source, name)
    }
}

/// Returns the skills that are disabled for single clients.
pub fn disabled_for_clients(places: &Places) -> Vec<DisabledClient> {
    let disabled = |change: RecordedChange| {
        let (pattern, client) = (Pattern::new(&change.pattern).ok()?, change.client?);
        Some(DisabledClient { pattern, client })
    };
    changes(places).into_iter().filter_map(disabled).collect()
}

/// Returns the switches that were turned off: the client, and the skill's name or path in its configuration.
fn switched_off(places: &Places) -> BTreeSet<(String, String)> {
    let switches = changes(places).into_iter().flat_map(|change| change.switches);
    switches.map(|switch| (switch.client.clone(), switch.path_or_key().to_owned())).collect()
}

/// Returns the clients of which there is a sign on this machine, and those called `also`, with the skills
/// that they read from files around `searched`, the places of a library. `planned` are links that are about
/// to be made, with the real directories of their skills.
pub fn client_readers(
    places: &Places,
    searched: &[Place],
    planned: BTreeMap<PathBuf, PathBuf>,
    also: &[&str],
) -> Vec<ClientReader> {
    let mut projects: Vec<PathBuf> = projects(searched).into_keys().collect();
    projects.retain(|project| project != places.project());
    projects.insert(0, places.project().to_owned());
    let plugins = searched.iter().filter(|place| place.root.tier == Tier::Plugin);
    let plugins = plugins.map(|place| {
        let name = place.root.label.strip_prefix("plugin:").unwrap_or(&place.root.label);
        (name.split('@').next().unwrap_or(name).to_owned(), place.root.path.clone())
    });
    let of_packages = searched.iter().filter(|place| package_of(&place.root.label).is_some());
    let packages = of_packages.filter_map(|place| place.root.path.ancestors().nth(2)).map(Path::to_owned);
    let (plugins, packages, switched_off) = (plugins.collect(), packages.collect(), switched_off(places));
    readers(places, &SearchedPlaces { projects, packages, plugins, planned, switched_off }, also)
}

/// Returns the recorded changes of the user and the project. A record that cannot be read counts as none; the
/// commands that write it report that.
fn changes(places: &Places) -> Vec<RecordedChange> {
    let of_owner = |owner: Owner| {
        let base = places.base(owner)?;
        let record = record_file::read::<Vec<RecordedChange>>(places, owner, &base, RecordKind::Disabled);
        Some(record.ok()?.entries)
    };
    [Owner::User, Owner::Project].into_iter().filter_map(of_owner).flatten().collect()
}
