//! The arguments of `rep connect`.

use std::path::PathBuf;

use clap::Args;
use repertoire_clients::Owner;
use repertoire_clients::connect::{
    ConnectAction, ConnectOptions, DEFAULT_NAME, ServerOptions, http_url, server_name, variable_name,
};

use crate::complete::{agent_names, client_names};
use crate::globals::Globals;

/// Connects clients to the skills over MCP; without a client, shows which skills each one gets
///
/// Each client's own configuration file gets an entry that starts `rep serve --stdio`; --root, --profile,
/// --config and --agent are passed on. The change is shown first, and everything else in the file stays as it
/// is, comments included; `rep undo` takes it back. An entry that is not Repertoire's is never touched. The
/// project's repertoire.toml does not affect this.
///
/// The server leaves out the skills that a client reads from files by itself, so no model sees a skill twice.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("chosen").args(["clients", "all"]))]
pub(crate) struct ConnectArgs {
    /// The clients
    #[arg(value_name = "CLIENT", value_parser = client_names())]
    pub(super) clients: Vec<String>,
    /// All clients that are found
    #[arg(long, conflicts_with = "clients")]
    pub(super) all: bool,
    /// Write to the project's configuration instead of the user's
    #[arg(long, conflicts_with = "user", requires = "chosen")]
    project: bool,
    /// Write to the user's configuration, which is the default
    #[arg(long, requires = "chosen")]
    user: bool,
    /// Register prompt hooks instead of the server
    ///
    /// Before each turn the client runs `rep hook`, which names the skill that fits the prompt, if one does.
    #[arg(long, requires = "chosen", conflicts_with_all = ["http", "name", "agent"])]
    pub(super) hooks: bool,
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
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "agent"], requires = "chosen", value_parser = http_url)]
    pub(super) http: Option<String>,
    /// The environment variable that has the token of that server when the clients run
    #[arg(long, value_name = "VARIABLE", requires = "http", value_parser = variable_name)]
    pub(super) token_env: Option<String>,
    /// Show what would be written and where, and write nothing
    #[arg(long, requires = "chosen")]
    pub(super) dry_run: bool,
    /// Write without asking
    #[arg(long, short, requires = "chosen")]
    pub(super) yes: bool,
}

impl ConnectArgs {
    /// Returns `true` if the clients are to be shown.
    pub(crate) fn names_no_client(&self) -> bool {
        !self.all && self.clients.is_empty()
    }

    /// Returns whose configuration is written.
    pub(super) fn owner(&self) -> Owner {
        Owner::user_if(self.user || !self.project)
    }

    /// Returns the entry that is meant.
    pub(super) fn options(&self) -> ConnectOptions {
        let action = if self.dry_run { ConnectAction::Show } else { ConnectAction::Connect };
        ConnectOptions { owner: self.owner(), name: self.name.clone(), action }
    }

    /// Returns the server that is registered, which is given the options of `globals`.
    pub(super) fn server(&self, globals: &Globals) -> ServerOptions {
        ServerOptions {
            owner: self.owner(),
            http: self.http.clone(),
            token_variable: self.token_env.clone(),
            command: self.command.clone(),
            agent: self.agent.clone(),
            roots: globals.root.clone(),
            config: globals.config.clone(),
            profile: globals.profile.clone(),
        }
    }
}
