//! The arguments of `rep connect`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::complete::agent_names;
use repertoire_clients::{CLIENTS, Client, Owner};

/// The name that the server has in the configuration of clients.
pub(super) const DEFAULT_NAME: &str = "repertoire";
/// The former name of the server. Goose has a built-in extension of that name, which replaces the entry.
pub(super) const FORMER_NAME: &str = "skills";

/// The path of MCP on servers.
const MCP_PATH: &str = "/mcp";

/// Registers the MCP server with clients
///
/// Each client's own configuration file gets an entry that starts `rep serve --stdio`; --root, --profile, --config
/// and --agent are passed on. The change is shown first, and everything else in the file stays as it is, comments
/// included. An entry that is not Repertoire's is never touched. The project's repertoire.toml does not affect this.
#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// The clients
    #[arg(value_name = "CLIENT", value_parser = clients())]
    pub(super) clients: Vec<String>,
    /// All clients that are found; with --undo, all that are connected
    #[arg(long, conflicts_with = "clients")]
    pub(super) all: bool,
    /// Write to the project's configuration instead of the user's
    #[arg(long)]
    pub(super) project: bool,
    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME, value_parser = server_name)]
    pub(super) name: String,
    /// The agent of the configuration that the clients act as
    #[arg(long, value_name = "NAME", add = agent_names())]
    pub(super) agent: Option<String>,
    /// The program to start; by default `rep` if that is this program, else its path
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::ExecutablePath)]
    pub(super) command: Option<PathBuf>,
    /// Register a server that runs already, at this address, instead of one to start; /mcp may be left out
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "agent"], value_parser = http_url)]
    pub(super) http: Option<String>,
    /// Remove the entry, if it is Repertoire's
    #[arg(long)]
    pub(super) undo: bool,
    /// Print what would be written and where, and write nothing
    #[arg(long, conflicts_with = "undo")]
    pub(super) print: bool,
    /// Write without asking
    #[arg(long, short)]
    pub(super) yes: bool,
}

impl ConnectArgs {
    /// Returns whose configuration is written.
    pub(super) fn owner(&self) -> Owner {
        if self.project { Owner::Project } else { Owner::User }
    }
}

/// Returns the parser of names of clients.
pub(crate) fn clients() -> PossibleValuesParser {
    let value = |client: &Client| PossibleValue::new(client.id).aliases(client.aliases).help(client.title());
    PossibleValuesParser::new(CLIENTS.iter().map(value))
}

/// Returns the client called `word`, which the command line has checked.
pub(crate) fn client(word: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == word || client.aliases.contains(&word))
}

/// The most characters of a server's name.
const MAX_NAME_CHARS: usize = 64;

/// Returns a name that every client accepts and that needs no quotes.
pub(super) fn server_name(word: &str) -> Result<String, String> {
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
