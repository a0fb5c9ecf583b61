//! Warnings about clients that would be offered skills twice because of links.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::LinkStep;
use crate::connect::{ClientFiles, Connection, OwnEntries, connections, present};
use crate::library::OpenLibrary;
use crate::{CLIENTS, Client, Places};

/// A warning about links, with a hint.
#[derive(Debug)]
pub struct Warning {
    /// The warning.
    pub message: String,
    /// The hint what to do.
    pub hint: String,
}

/// Returns warnings about clients that would be offered skills twice by `steps`: clients that links are made
/// for, clients of which there is a sign, and connected clients.
pub fn warnings(
    library: OpenLibrary<'_>,
    places: &Places,
    connections: &[Connection],
    linked: &[&'static Client],
    steps: &[LinkStep<'_>],
) -> Vec<Warning> {
    let made = steps.iter().filter(|step| step.is_free());
    let names: BTreeSet<String> = made.clone().map(|step| step.skill.name.to_owned()).collect();
    let planned = made.map(|step| (step.path.clone(), step.skill.directory.clone())).collect();
    let files = ClientFiles::new(library, places, connections, planned, linked);
    let mut present = present(places, connections);
    present.extend(linked);
    present.sort_by_key(|client| client.id);
    present.dedup_by_key(|client| client.id);
    let mut warnings = Vec::new();
    for client in CLIENTS {
        let connection = connections.iter().find(|connection| connection.client.id == client.id);
        let is_linked = linked.iter().any(|linked| linked.id == client.id);
        if !is_linked && connection.is_none() && !places.is_there(client) {
            continue;
        }
        // A server that is confined to directories of its own may offer other skills.
        if connection.is_some_and(|connection| !connection.roots().is_empty()) {
            continue;
        }
        if let Some((message, hint)) = files.read_twice(client, &names, &present) {
            warnings.push(Warning { message: format!("with these links {message}"), hint });
        }
    }
    warnings
}

/// Returns the titles of the clients that read some of the skills `names` twice because of new links.
pub fn reading_twice(
    library: OpenLibrary<'_>,
    places: &Places,
    names: &BTreeSet<String>,
) -> Vec<&'static str> {
    let connections = connections(&OwnEntries::new(places), places);
    let files = ClientFiles::new(library, places, &connections, BTreeMap::new(), &[]);
    let present = present(places, &connections);
    let there = present.iter().filter(|client| places.is_there(client));
    let twice = there.filter(|client| files.read_twice(client, names, &present).is_some());
    twice.map(|client| client.title()).collect()
}
