//! The clients on this machine, and how each of them gets the skills of a library.

use std::collections::{BTreeMap, BTreeSet};

use repertoire::{Entry, Registry, SkillName, State};
use repertoire_clients::connect::{
    ClientFiles, Connection, OwnEntries, connections, offered_names, present, skills_by_name,
};
use repertoire_clients::{CLIENTS, Client, ClientReader, Places, SkillOnDisk, client_readers};

use crate::view::{AdviceView, ClientSkillView, ClientView, SeeingClientView, SkillWay};
use crate::workspace::{Library, Workspace, names_offered_by};

/// The skills of one name.
struct SkillRow {
    name: String,
    skills: Vec<SkillOnDisk>,
    is_disabled: bool,
}

/// Returns the clients of which there is a sign in the home directory, each with what it gets of `library`.
pub fn clients(workspace: &Workspace, library: &Library) -> Vec<ClientView> {
    let places = workspace.env.places();
    let connections = connections(&OwnEntries::new(&places), &places);
    let files = ClientFiles::new(library.opened(), &places, &connections, BTreeMap::new(), &[]);
    let rows = rows(library);
    let is_here = |reader: &&ClientReader| places.has_sign_of(reader.client);
    let overview = Overview { workspace, library, places: &places, connections: &connections, files: &files };
    files.readers.iter().filter(is_here).map(|reader| overview.view(reader, &rows)).collect()
}

/// Returns the active skills of `registry` that the client which introduces itself to servers as `client`
/// reads from files by itself.
pub fn names_read_from_files(
    workspace: &Workspace,
    registry: &Registry,
    client: &str,
) -> BTreeSet<SkillName> {
    let Some(client) = Client::introduced_as(client) else { return BTreeSet::new() };
    let library = workspace.library_of(registry);
    let readers = client_readers(&workspace.env.places(), &library.places, BTreeMap::new(), &[client.id]);
    let Some(reader) = readers.iter().find(|reader| reader.client.id == client.id) else {
        return BTreeSet::new();
    };
    let is_read = |skill: &SkillOnDisk| reader.routes_in_use(skill).next().is_some();
    let read = library.snapshot.active().filter(|entry| is_read(&SkillOnDisk::of(entry)));
    read.map(|entry| entry.name().clone()).collect()
}

/// Returns the active skills, and the disabled skills that a client may still find in files, by name.
fn rows(library: &Library) -> Vec<SkillRow> {
    let states = |name: &str| library.snapshot.named(name).iter().map(|entry| entry.state);
    let row = |(name, skills): (String, Vec<SkillOnDisk>)| {
        let is_disabled = !states(&name).any(|state| state == State::Active);
        let is_shown = !is_disabled || states(&name).any(|state| state == State::Disabled);
        is_shown.then_some(SkillRow { name, skills, is_disabled })
    };
    skills_by_name(&library.snapshot).into_iter().filter_map(row).collect()
}

/// A library with the clients around it.
struct Overview<'a> {
    workspace: &'a Workspace,
    library: &'a Library,
    places: &'a Places,
    connections: &'a [Connection],
    files: &'a ClientFiles,
}

impl Overview<'_> {
    fn view(&self, reader: &ClientReader, rows: &[SkillRow]) -> ClientView {
        let id = reader.client.id;
        let is_on = |connection: &&Connection| connection.client.id == id && !connection.is_off;
        let connection = self.connections.iter().find(is_on);
        let served = connection
            .map(|connection| names_offered_by(self.workspace, self.library, self.places, connection));
        ClientView {
            id,
            title: reader.client.title,
            directories: reader.directories.iter().map(|path| path.display().to_string()).collect(),
            connected: connection.map(|connection| connection.path.display().to_string()),
            advice: self.advice(reader, served.as_ref()),
            skills: rows.iter().map(|row| skill(reader, served.as_ref(), row)).collect(),
        }
    }

    fn advice(&self, reader: &ClientReader, served: Option<&BTreeSet<String>>) -> Option<AdviceView> {
        let names = served.cloned().unwrap_or_else(|| offered_names(&self.library.snapshot));
        let client = CLIENTS.iter().find(|client| client.id == reader.client.id)?;
        let present = present(self.places, self.connections);
        let twice = self.files.read_twice(client, &names, &present);
        twice.map(|(reason, hint)| AdviceView { reason, hint })
    }
}

/// Returns how the client of `reader`, which is `served` skills over MCP, gets the skills of `row`.
fn skill(reader: &ClientReader, served: Option<&BTreeSet<String>>, row: &SkillRow) -> ClientSkillView {
    let files = row.skills.iter().map(|skill| reader.routes_in_use(skill).count()).sum();
    let mcp = served.is_some_and(|names| names.contains(&row.name));
    let is_off = || row.skills.iter().any(|skill| reader.is_switched_off(skill));
    let way = match (files, mcp) {
        (0, false) if is_off() => SkillWay::Off,
        (0, false) => SkillWay::None,
        (0, true) => SkillWay::Mcp,
        // The server leaves out of its catalog what the client reads by itself.
        (1, _) => SkillWay::Files,
        _ => SkillWay::Twice,
    };
    ClientSkillView { name: row.name.clone(), disabled: row.is_disabled, files, mcp, way }
}

/// The clients of which there is a sign on this machine.
pub struct SeeingClients {
    readers: Vec<ClientReader>,
    connections: Vec<Connection>,
    places: Places,
}

impl SeeingClients {
    /// Looks for the clients around `library`.
    pub fn of(workspace: &Workspace, library: &Library) -> Self {
        let places = workspace.env.places();
        Self {
            readers: client_readers(&places, &library.places, BTreeMap::new(), &[]),
            connections: connections(&OwnEntries::new(&places), &places),
            places,
        }
    }

    /// Returns the clients with the skills that each reads from files.
    pub fn readers(&self) -> &[ClientReader] {
        &self.readers
    }

    /// Returns the clients, with what each gets of `entry`.
    pub fn of_skill(&self, entry: &Entry) -> Vec<SeeingClientView> {
        if self.readers.is_empty() {
            return Vec::new();
        }
        let skill = SkillOnDisk::of(entry);
        let is_connected = |id: &str| {
            let mut own = self.connections.iter().filter(|it| it.client.id == id && !it.is_off);
            own.any(|connection| connection.may_offer(&self.places, &skill.directory))
        };
        let client = |reader: &ClientReader| SeeingClientView {
            id: reader.client.id,
            reads: reader.routes_in_use(&skill).next().is_some(),
            connected: entry.state == State::Active && is_connected(reader.client.id),
            switched_off: reader.is_switched_off(&skill),
            known_as: reader.names_of(&skill),
        };
        self.readers.iter().map(client).collect()
    }
}
