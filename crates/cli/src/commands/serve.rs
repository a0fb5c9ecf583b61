//! `rep serve`: the skills for MCP clients.

use crate::error::CliError;
use crate::exit::Exit;
use crate::server;
pub(crate) use crate::server::ServeArgs;
use crate::ui::Ui;
use crate::wire::Workspace;

pub(crate) fn run(ui: &mut Ui, workspace: Workspace, args: &ServeArgs) -> Result<Exit, CliError> {
    server::run(ui, workspace, args, &|_, _| Ok(()))
}
