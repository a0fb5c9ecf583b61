//! `rep team`.

mod channel;
mod token;

use clap::{Args, Subcommand};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Workspace;

/// Manages the channels and the tokens of a store that a team shares
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct TeamArgs {
    #[command(subcommand)]
    action: Action,
    /// The store: postgres://user@host/database or the path of a SQLite file; `store.url` by default
    #[arg(long, value_name = "URL", global = true)]
    store: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    #[command(subcommand)]
    Channel(channel::ChannelAction),
    #[command(subcommand)]
    Token(token::TokenAction),
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &TeamArgs) -> Result<Exit, CliError> {
    let store = args.store.as_deref();
    match &args.action {
        Action::Channel(action) => channel::run(ui, workspace, store, action),
        Action::Token(action) => token::run(ui, workspace, store, action),
    }
}
