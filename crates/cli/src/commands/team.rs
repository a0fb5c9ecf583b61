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
}

#[derive(Debug, Subcommand)]
enum Action {
    Channel(channel::ChannelArgs),
    Token(token::TokenArgs),
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &TeamArgs) -> Result<Exit, CliError> {
    match &args.action {
        Action::Channel(args) => channel::run(ui, workspace, args),
        Action::Token(args) => token::run(ui, workspace, args),
    }
}
