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
mod ours;
mod overlap;
mod plan;
mod report;
mod server;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

pub(crate) use connections::{Connection, command_for, connections, is_connected};
pub(crate) use ours::Ours;
pub(crate) use overlap::{Files, Overlap, offered_names, told_beside, told_twice};

use crate::cli::Globals;
use crate::clients::{CLIENTS, Client, Owner, Places};
use crate::config;
use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Context;

/// The name that the server has in the configuration of clients.
const DEFAULT_NAME: &str = "skills";

/// Where servers have MCP.
const MCP_PATH: &str = "/mcp";

/// Registers the MCP server with clients
///
/// Each client's own configuration file gets an entry that starts `rep serve --stdio`; --root, --profile, --config
/// and --agent are passed on. The change is shown first, and everything else in the file stays as it is, comments
/// included. An entry that is not Repertoire's is never touched. The project's repertoire.toml has no say in this.
#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// The clients
    #[arg(value_name = "CLIENT", value_parser = clients())]
    clients: Vec<String>,
    /// All clients of which there is a sign; with --undo, all that are connected
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
    /// Register a server that runs already, at this address, instead of one to start; /mcp may be left out
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
    let Some(rest) = rest.filter(|_| is_sound) else {
        return Err("an address starts with http:// or https://".to_owned());
    };
    match rest.split_once('/') {
        Some((_, path)) if format!("/{path}").ends_with(MCP_PATH) => Ok(word.to_owned()),
        None | Some((_, "")) => Ok(format!("{}{MCP_PATH}", word.trim_end_matches('/'))),
        Some(_) => Err(format!("the path of an address ends with {MCP_PATH}, as that of the server does")),
    }
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, env: Env, globals: Globals, args: &ConnectArgs) -> Result<Exit, CliError> {
    let places = Places::new(&env);
    let chosen = chosen(&places, args)?;
    let server = server::server(&env, &globals, &places, args)?;
    let ours = Ours::new(&env).or_asked(&server);
    // What is wrong with the configuration is told by the commands that need it.
    let settings = config::load(&env, &globals, false);
    let context = settings.ok().map(|settings| Context { env, globals, settings });
    if let (Some(context), Some(agent), false) = (&context, &args.agent, args.undo) {
        context.expect_agent(agent)?;
    }
    if args.print {
        return report::print(ui, &places, &chosen, &server, args);
    }
    let mut plans = plan::plan(&places, &ours, &chosen, &server, args);
    if !args.undo {
        overlap::warn_of_second(&ours, &places, &args.name, &mut plans);
    }
    if let Some(context) = context.filter(|_| !args.undo && server.is_stdio()) {
        overlap::warn(&context, &places, &mut plans);
    }
    apply::run(ui, &server, args, plans)
}

/// Returns the clients that are meant.
fn chosen(places: &Places, args: &ConnectArgs) -> Result<Vec<&'static Client>, CliError> {
    if !args.all && args.clients.is_empty() {
        let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
        return Err(CliError::usage("no client is named")
            .hint("`--all` connects all that are found")
            .hint(format!("or name some: {}", ids.join(", "))));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers() {
        for (word, expect) in [
            ("http://127.0.0.1:7437/mcp", Some("http://127.0.0.1:7437/mcp")),
            ("http://127.0.0.1:7437", Some("http://127.0.0.1:7437/mcp")),
            ("https://skills.example.com/", Some("https://skills.example.com/mcp")),
            ("https://example.com/skills/mcp", Some("https://example.com/skills/mcp")),
            ("https://example.com/xmcp", None),
            ("http://127.0.0.1:7437/sse", None),
            ("http://", None),
            ("http:///mcp", None),
            ("127.0.0.1:7437", None),
        ] {
            assert_eq!(http_url(word).ok().as_deref(), expect, "{word}");
        }
    }
}
