//! `rep connect`.

mod apply;
mod connections;
mod edit;
mod edit_json;
mod edit_toml;
mod edit_yaml;
#[cfg(test)]
mod edit_properties;
#[cfg(test)]
mod edit_tests;
mod overlap;
mod plan;
mod report;
mod server;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

pub(crate) use connections::connections;
pub(crate) use overlap::{offered_names, overlap};

use crate::cli::Globals;
use crate::clients::{CLIENTS, Client, Owner, Places};
use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;

/// The name that the server has in the configuration of clients.
const DEFAULT_NAME: &str = "skills";

/// Registers the MCP server with clients
///
/// Each client's own configuration file gets an entry that starts `rep serve --stdio`; --root, --profile, --config
/// and --agent are passed on. The change is shown first, and everything else in the file stays as it is, comments
/// included. An entry that is not Repertoire's is never touched. The project's repertoire.toml has no say in this.
#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// The clients
    #[arg(value_name = "CLIENT", value_parser = clients(), required_unless_present = "all")]
    clients: Vec<String>,
    /// All clients whose directory is there; with --undo, all that are connected
    #[arg(long, conflicts_with = "clients")]
    all: bool,
    /// Whose configuration is written
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    scope: Owner,
    /// Write to the project's configuration; the same as --scope project
    #[arg(long, conflicts_with = "scope")]
    project: bool,
    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME, value_parser = server_name)]
    name: String,
    /// The agent of the configuration that the clients are to be
    #[arg(long, value_name = "NAME", add = crate::cli::agent_names())]
    agent: Option<String>,
    /// The program to start; by default `rep` where that is this program, and else its path
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::ExecutablePath)]
    command: Option<PathBuf>,
    /// Register a server that runs already, at this address, instead of one to start
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "agent"], value_parser = http_url)]
    http: Option<String>,
    /// Remove the entry, if it is Repertoire's
    #[arg(long)]
    undo: bool,
    /// Print what would be written and where, and write nothing
    #[arg(long, conflicts_with = "undo")]
    print: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
}

impl ConnectArgs {
    fn owner(&self) -> Owner {
        if self.project { Owner::Project } else { self.scope }
    }
}

/// Takes the names of clients.
pub(crate) fn clients() -> PossibleValuesParser {
    let value = |client: &Client| PossibleValue::new(client.id).aliases(client.aliases).help(client.title);
    PossibleValuesParser::new(CLIENTS.iter().map(value))
}

/// Returns the client called `word`, which the command line has checked.
pub(crate) fn client(word: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == word || client.aliases.contains(&word))
}

/// Returns what to exit with, where it was `exit` so far and a client failed with `code`.
///
/// Others may have been done, so it is never said that the command line was wrong and nothing was.
fn after_failure(exit: Exit, code: Exit) -> Exit {
    let code = if code == Exit::Usage { Exit::No } else { code };
    if code.code() > exit.code() { code } else { exit }
}

/// The most characters of a server's name.
const MAX_NAME_CHARS: usize = 64;

/// Takes a name that no client chokes on and that needs no quotes anywhere.
fn server_name(word: &str) -> Result<String, String> {
    let is_sound = word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        && word.len() <= MAX_NAME_CHARS;
    if is_sound {
        return Ok(word.to_owned());
    }
    Err(format!("a name is at most {MAX_NAME_CHARS} letters, digits, - and _, the first a letter or digit"))
}

fn http_url(word: &str) -> Result<String, String> {
    let rest = word.strip_prefix("http://").or_else(|| word.strip_prefix("https://"));
    let is_sound = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && word.chars().all(|c| c.is_ascii_graphic());
    if is_sound { Ok(word.to_owned()) } else { Err("an address starts with http:// or https://".to_owned()) }
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, env: Env, globals: Globals, args: &ConnectArgs) -> Result<Exit, CliError> {
    let places = Places::new(&env);
    let chosen = chosen(&places, args)?;
    let server = server::server(&env, &globals, &places, args)?;
    if args.print {
        return report::print(ui, &places, &chosen, &server, args);
    }
    let mut plans = plan::plan(&places, &chosen, &server, args);
    if !args.undo && server.is_stdio() {
        overlap::warn(&env, &globals, &places, args.agent.as_deref(), &mut plans);
    }
    apply::run(ui, &server, args, plans)
}

/// Returns the clients that are meant.
fn chosen(places: &Places, args: &ConnectArgs) -> Result<Vec<&'static Client>, CliError> {
    if !args.all {
        let mut chosen: Vec<&'static Client> = Vec::new();
        for client in args.clients.iter().filter_map(|word| client(word)) {
            if !chosen.iter().any(|earlier| earlier.id == client.id) {
                chosen.push(client);
            }
        }
        return Ok(chosen);
    }
    let has_file = |client: &&Client| !places.configuration(client, args.owner()).is_empty();
    let is_meant = |client: &&Client| args.undo || places.is_there(client);
    let chosen: Vec<&'static Client> = CLIENTS.iter().filter(has_file).filter(is_meant).collect();
    if chosen.is_empty() {
        let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
        return Err(CliError::no("none of the clients that are known was found")
            .hint(format!("name one: {}", ids.join(", "))));
    }
    Ok(chosen)
}
