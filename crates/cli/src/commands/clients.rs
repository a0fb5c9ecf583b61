//! `rep clients`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::clients::{CLIENTS, ClientReader, Places, readers};
use crate::commands::connect::{
    Connection, Files, OwnEntries, connected_to_all, connections, names_offered_by, offered_names,
    plugins_offered_twice, present,
};
use crate::commands::link;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Column, Style, Table, Ui};
use crate::wire::{Context, Library, plugin_directories, projects};

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
    files: usize,
    mcp: bool,
}

/// A client, with what it gets.
struct ClientView<'a> {
    reader: &'a ClientReader,
    connection: Option<&'a Connection>,
    /// The names of the skills that the server offers it.
    offered: BTreeSet<String>,
    /// The names of the skills that its own switches are turned off for.
    switched_off: BTreeSet<String>,
    advice: Option<(String, String)>,
}

impl ClientView<'_> {
    /// Returns the number of directories from which the client takes the skill called `name`.
    fn files(&self, name: &str) -> usize {
        if self.switched_off.contains(name) { 0 } else { self.reader.times(name) }
    }

    /// Returns how the client gets the skill called `name`, in a word.
    fn way(&self, name: &str) -> &'static str {
        match (self.files(name), self.offered.contains(name)) {
            (0, false) if self.switched_off.contains(name) => "off",
            (0, false) => "-",
            (0, true) => "mcp",
            (1, false) => "files",
            _ => "twice",
        }
    }
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, _args: &ClientsArgs) -> Result<Exit, CliError> {
    let library = context.inspect(context.settings.policy.clone());
    let places = Places::new(&context.env);
    let project_directories: Vec<PathBuf> = projects(&library.places).into_keys().collect();
    let readers = readers(&places, &project_directories, &plugin_directories(&library.places));
    let connections = connections(&OwnEntries::new(&context.env), &places);
    let names = offered_names(&library);
    let views: Vec<ClientView<'_>> =
        readers.iter().map(|reader| view(context, &library, &places, reader, &connections)).collect();
    if ui.is_json() {
        let clients = views.iter().map(|view| client_json(view, &names)).collect();
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
    for name in &names {
        table.cell(name.as_str());
        for view in &views {
            table.cell(view.way(name));
        }
    }
    table.write(ui)?;
    ui.flush()?;
    for view in &views {
        let count = |way: &str| names.iter().filter(|name| view.way(name) == way).count();
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

fn view<'a>(
    context: &Context,
    library: &Library,
    places: &Places,
    reader: &'a ClientReader,
    connections: &'a [Connection],
) -> ClientView<'a> {
    let id = reader.client.id;
    let connection = connections.iter().find(|connection| connection.client.id == id && !connection.is_off);
    let served = connection.map(|connection| names_offered_by(context, library, places, connection));
    let names = served.clone().unwrap_or_else(|| offered_names(library));
    let client = CLIENTS.iter().find(|client| client.id == id);
    let advice = client.and_then(|client| {
        let files = Files {
            recorded: link::recorded(places),
            connected: connected_to_all(connections),
            ..Files::default()
        };
        files.offered_twice(places, client, connection, &names, &present(places, connections))
    });
    let of_plugins = || plugins_offered_twice(library, places, connection?);
    let advice = advice.or_else(of_plugins);
    let switched_off = link::switched_off(places, id);
    ClientView { reader, connection, offered: served.unwrap_or_default(), switched_off, advice }
}

fn client_json<'a>(view: &ClientView<'_>, names: &'a BTreeSet<String>) -> ClientJson<'a> {
    let seen =
        |name: &'a String| SeenJson { name, files: view.files(name), mcp: view.offered.contains(name) };
    ClientJson {
        id: view.reader.client.id,
        title: view.reader.client.title,
        directories: view.reader.directories.iter().map(|path| path.display().to_string()).collect(),
        connected: view.connection.map(|connection| connection.path.display().to_string()),
        skills: names.iter().map(seen).collect(),
        advice: view.advice.as_ref().map(|(message, hint)| format!("{message}; {hint}")),
    }
}
