//! `rep link`.

use clap::Args;

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Context;

/// Puts skills where clients look for them
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {}

/// Runs the command.
pub(crate) fn run(_ui: &mut Ui, _context: &Context, _args: &LinkArgs) -> Result<Exit, CliError> {
    Ok(Exit::Success)
}
