//! `rep clients`.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use repertoire::State;
use repertoire_app::workspace::names_offered_by;
use repertoire_clients::connect::{
    ClientFiles, Connection, OwnEntries, connections, offered_names, plugins_offered_twice, present,
    skills_by_name,
};
use repertoire_clients::{CLIENTS, ClientReader, Places, SkillOnDisk};
use serde::Serialize;

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Column, Style, Table, Ui};
use crate::wire::{Library, Workspace};

/// Shows which clients on this machine get which skills
///
/// A client gets a skill from files, over MCP from the server, twice, or not at all; `off` is a skill that `rep disable` switched
/// off in the client's own configuration. The clients are those of which there
/// is a sign in the home directory. For a client that is offered skills twice it says what to do.
#[derive(Debug, Args)]
pub(crate) struct ClientsArgs {}

#[derive(Serialize)]
struct ClientsJson<'a> {
    clients: Vec<ClientJson<'a>>,
}

#[derive(Serialize)]
struct ClientJson<'a> {
    id: &'static str,
    title: &'static str,
    /// The directories that it reads and that are there.
    directories: Vec<String>,
    /// The configuration that connects it to the server.
    connected: Option<String>,
    skills: Vec<SeenJson<'a>>,
    advice: Option<String>,
}

#[derive(Serialize)]
struct SeenJson<'a> {
    name: &'a str,
    /// True if no skill of the name is active.
    disabled: bool,
    files: usize,
    mcp: bool,
}

/// The skills of one name.
struct SkillRow {
    name: String,
    skills: Vec<SkillOnDisk>,
    is_disabled: bool,
}

/// A client, with what it gets.
struct ClientView<'a> {
    reader: &'a ClientReader,
    connection: Option<&'a Connection>,
    /// The names of the skills that the server offers it.
    offered: BTreeSet<String>,
    advice: Option<(String, String)>,
}

impl ClientView<'_> {
    /// Returns the number of directories from which the client takes the skills of `row`.
    fn files(&self, row: &SkillRow) -> usize {
        row.skills.iter().map(|skill| self.reader.routes_in_use(skill).count()).sum()
    }

    /// Returns how the client gets the skills of `row`, in a word.
    fn way(&self, row: &SkillRow) -> &'static str {
        match (self.files(row), self.offered.contains(&row.name)) {
            (0, false) if row.skills.iter().any(|skill| self.reader.is_switched_off(skill)) => "off",
            (0, false) => "-",
            (0, true) => "mcp",
            (1, false) => "files",
            _ => "twice",
        }
    }
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, _args: &ClientsArgs) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let places = workspace.env.places();
    let connections = connections(&OwnEntries::new(&places), &places);
    let files = ClientFiles::new(library.opened(), &places, &connections, BTreeMap::new(), &[]);
    let around = (workspace, &library, &places);
    let readers = files.readers.iter().filter(|reader| places.has_sign_of(reader.client));
    let views: Vec<ClientView<'_>> =
        readers.map(|reader| view(around, &files, reader, &connections)).collect();
    let rows = rows(&library);
    if ui.is_json() {
        let clients = views.iter().map(|view| client_json(view, &rows)).collect();
        ui.write_json(&ClientsJson { clients })?;
        return Ok(Exit::Success);
    }
    if views.is_empty() {
        writeln!(ui.out(), "there is no sign of a client that reads skills")?;
        return Ok(Exit::Success);
    }
    let mut columns = vec![Column { heading: "SKILL", align: Align::Left, style: Some(Style::Name) }];
    columns.extend(views.iter().map(|view| Column {
        heading: view.reader.client.id,
        align: Align::Left,
        style: None,
    }));
    let mut table = Table::new(columns);
    for row in &rows {
        let state = if row.is_disabled { " (disabled)" } else { "" };
        table.cell(format!("{}{state}", row.name));
        for view in &views {
            table.cell(view.way(row));
        }
    }
    table.write(ui)?;
    ui.flush()?;
    for view in &views {
        let count = |way: &str| rows.iter().filter(|row| view.way(row) == way).count();
        let parts = [
            ("files", "from files"),
            ("mcp", "over MCP"),
            ("twice", "twice"),
            ("off", "switched off"),
            ("-", "not at all"),
        ];
        let parts = parts.into_iter().filter(|(way, _)| count(way) > 0);
        let parts: Vec<String> = parts.map(|(way, words)| format!("{} {words}", count(way))).collect();
        if !parts.is_empty() {
            let title = ui.paint_err(Style::Heading, view.reader.client.title);
            writeln!(ui.err(), "{title}: {}", parts.join(", "))?;
        }
    }
    for (message, hint) in views.iter().filter_map(|view| view.advice.as_ref()) {
        ui.warn(message)?;
        ui.hint(hint)?;
    }
    Ok(Exit::Success)
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

fn view<'a>(
    (workspace, library, places): (&Workspace, &Library, &Places),
    files: &ClientFiles,
    reader: &'a ClientReader,
    connections: &'a [Connection],
) -> ClientView<'a> {
    let id = reader.client.id;
    let connection = connections.iter().find(|connection| connection.client.id == id && !connection.is_off);
    let served = connection.map(|connection| names_offered_by(workspace, library, places, connection));
    let names = served.clone().unwrap_or_else(|| offered_names(&library.snapshot));
    let client = CLIENTS.iter().find(|client| client.id == id);
    let advice = client.and_then(|client| {
        files.offered_twice(places, client, connection, &names, &present(places, connections))
    });
    let of_plugins = || plugins_offered_twice(library.opened(), places, connection?);
    let advice = advice.or_else(of_plugins);
    ClientView { reader, connection, offered: served.unwrap_or_default(), advice }
}

fn client_json<'a>(view: &ClientView<'_>, rows: &'a [SkillRow]) -> ClientJson<'a> {
    let seen = |row: &'a SkillRow| SeenJson {
        name: &row.name,
        disabled: row.is_disabled,
        files: view.files(row),
        mcp: view.offered.contains(&row.name),
    };
    ClientJson {
        id: view.reader.client.id,
        title: view.reader.client.title,
        directories: view.reader.directories.iter().map(|path| path.display().to_string()).collect(),
        connected: view.connection.map(|connection| connection.path.display().to_string()),
        skills: rows.iter().map(seen).collect(),
        advice: view.advice.as_ref().map(|(message, hint)| format!("{message}; {hint}")),
    }
}
