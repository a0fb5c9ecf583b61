//! `rep pack`.

mod args;
mod files;
mod marketplace;
mod plugin;
mod skill;

use args::Form;
pub(crate) use args::PackArgs;

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Workspace;

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &PackArgs) -> Result<Exit, CliError> {
    match &args.form {
        Form::Skill(args) => skill::run(ui, workspace, args),
        Form::Plugin(args) => plugin::run(ui, workspace, args),
        Form::Marketplace(args) => marketplace::run(ui, workspace, args),
    }
}
