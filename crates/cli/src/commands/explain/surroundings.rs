//! The origin of a skill, and the clients on this machine that read it.

use std::collections::BTreeSet;

use repertoire::discovery::{Tier, plugin};
use repertoire::{Entry, State};
use repertoire_sources::origin::Origins;
use serde::Serialize;

use super::decisions::Decision;
use crate::clients::{ClientReader, Places, readers};
use crate::commands::connect::{Connection, OwnEntries, connections};
use crate::commands::link::switched_off;
use crate::wire::{ComparedOrigin, Context, Library, compared_origins, plugin_directories, projects, routes};

/// The records of installers and the clients around a library.
pub(super) struct Surroundings {
    origins: Origins,
    readers: Vec<ClientReader>,
    /// For each of the readers the names of the skills that its own switches are turned off for.
    switched_off: Vec<BTreeSet<String>>,
    connections: Vec<Connection>,
}

/// A client on this machine.
#[derive(Debug, Serialize)]
pub(super) struct ClientJson {
    id: &'static str,
    /// True if it reads the skill from files.
    reads: bool,
    /// True if it is connected to the MCP server.
    connected: bool,
    /// True if its own switch for the skill is turned off.
    switched_off: bool,
}

impl Surroundings {
    /// Looks at the surroundings of `library`.
    pub(super) fn of(context: &Context, library: &Library) -> Self {
        let places = Places::new(&context.env);
        let projects: Vec<_> = projects(&library.places).into_keys().collect();
        let readers = readers(&places, &projects, &plugin_directories(&library.places));
        Self {
            origins: context.origins(library),
            switched_off: readers.iter().map(|reader| switched_off(&places, reader.client.id)).collect(),
            readers,
            connections: connections(&OwnEntries::new(&context.env), &places),
        }
    }

    /// Returns the origins of `entry`.
    pub(super) fn origins(&self, entry: &Entry) -> Vec<ComparedOrigin> {
        compared_origins(&self.origins, entry)
    }

    /// Returns the clients, with what each gets of `entry`.
    pub(super) fn clients(&self, entry: &Entry) -> Vec<ClientJson> {
        let routes = routes(entry);
        let is_connected = |id: &str| {
            self.connections.iter().any(|connection| connection.client.id == id && !connection.is_off)
        };
        let client = |(reader, switched_off): (&ClientReader, &BTreeSet<String>)| {
            let id = reader.client.id;
            let switched_off = switched_off.contains(entry.name().as_str());
            let reads = reader.reads(&routes) && !switched_off;
            ClientJson {
                id,
                reads,
                connected: is_connected(id) && entry.state == State::Active,
                switched_off,
            }
        };
        self.readers.iter().zip(&self.switched_off).map(client).collect()
    }

    /// Returns the decisions about `entry`.
    pub(super) fn decisions(&self, context: &Context, library: &Library, entry: &Entry) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let origins = self.origins(entry);
        for compared in &origins {
            let origin = &compared.origin;
            let source = origin.in_words().map(|source| format!(" from {source}")).unwrap_or_default();
            let record = context.shown(&origin.record.display().to_string());
            let text = format!(
                "installed by {}{source}, {} ({record})",
                origin.installer.command(),
                compared.state_in_words()
            );
            decisions.push(Decision { topic: "origin", text });
        }
        decisions.extend(plugin_of(context, library, entry).map(|text| Decision { topic: "plugin", text }));
        for (_, text) in context.broken_records(&self.origins) {
            decisions.push(Decision { topic: "origin", text });
        }
        if origins.is_empty() && self.origins.faults.is_empty() {
            decisions.push(Decision { topic: "origin", text: "no installer recorded it".to_owned() });
        }
        let clients = self.clients(entry);
        let titles = |is_meant: fn(&ClientJson) -> bool| {
            let meant = clients.iter().zip(&self.readers).filter(|(client, _)| is_meant(client));
            let titles: Vec<&str> = meant.map(|(_, reader)| reader.client.title).collect();
            (!titles.is_empty()).then(|| titles.join(", "))
        };
        let parts = [
            titles(|client| client.reads).map(|titles| format!("read by {titles}")),
            titles(|client| client.connected).map(|titles| format!("offered over MCP to {titles}")),
            titles(|client| client.switched_off).map(|titles| format!("switched off for {titles}")),
            titles(|client| !client.reads && !client.connected && !client.switched_off)
                .map(|titles| format!("not seen by {titles}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            decisions.push(Decision { topic: "clients", text: parts.join("; ") });
        }
        decisions
    }
}

/// Returns the plugin that `entry` belongs to, with the MCP servers that it brings along, in words.
fn plugin_of(context: &Context, library: &Library, entry: &Entry) -> Option<String> {
    let place = library.places.iter().find(|place| place.root.label == *entry.source)?;
    let directory = place.root.path.parent().filter(|_| place.root.tier == Tier::Plugin)?;
    let shown = context.shown(&directory.display().to_string());
    let Some(plugin) = plugin(directory, &context.settings.policy).0 else {
        return Some(format!("of {shown}"));
    };
    let version = plugin.manifest.version.map(|version| format!(" {version}")).unwrap_or_default();
    let servers =
        plugin.servers.iter().map(|server| format!("{} ({})", server.name, server.transport.as_str()));
    let servers: Vec<String> = servers.collect();
    let servers = if servers.is_empty() {
        String::new()
    } else {
        format!("; it brings MCP servers along, which are not started: {}", servers.join(", "))
    };
    Some(format!("{}{version} in {shown}{servers}", plugin.manifest.name))
}
