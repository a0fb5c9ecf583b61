//! `rep adopt`.

mod apply;
mod args;

pub(crate) use args::AdoptArgs;

use std::path::Path;

use repertoire::change::read_installed;
use repertoire_clients::adopt::plan;

use crate::change_guard::{ChangeGuard, guarded};
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Workspace;

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &AdoptArgs) -> Result<Exit, CliError> {
    guarded(ui, |ui, guard| adopt(ui, workspace, args, guard))
}

fn adopt(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &AdoptArgs,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    let places = workspace.env.places();
    let owner = args.place.owner(&workspace.env);
    let base = places.base(owner).ok_or_else(|| {
        CliError::usage("there is no home directory to gather skills in").hint("set HOME, or use `--project`")
    })?;
    if args.names.is_empty() && !args.all {
        return Err(CliError::usage("no skill is named")
            .hint("`rep adopt --all` gathers all skills that lie in directories of clients")
            .hint("`rep list --duplicates` shows them"));
    }
    let library = workspace.inspect(workspace.settings.policy.clone());
    for name in &args.names {
        library.find_any(name)?;
    }
    let others = |directory: &Path| {
        let installed = read_installed(directory).map_err(|error| error.to_string())?;
        Ok(installed.map(|installed| installed.others).unwrap_or_default())
    };
    let plan = plan(library.opened(), &places, &args.options(owner), &base, &others)?;
    apply::run(ui, workspace, args, &base, &plan, guard)
}
