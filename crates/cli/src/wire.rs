//! The workspace of a command: the composition root.

use std::sync::Arc;

use repertoire::Snapshot;
use repertoire::config::Settings;
use repertoire::provider::Problem;

use crate::env::Env;
use crate::error::CliError;
use crate::globals::Globals;
use crate::ui::{TerminalReporter, Ui, escape};

pub(crate) use repertoire_app::origin::{ComparedOrigin, MODE_CHANGED, compared_origins, routes};
pub(crate) use repertoire_app::workspace::{
    ExecRequest, Library, SearchableLibrary, Workspace, enable_command, kits_in_use, narrowed, notices,
    shell_word, skill_directory,
};

/// Returns the workspace of a command, whose configuration is read.
pub(crate) fn load(ui: &Ui, env: Env, globals: &Globals) -> Result<Workspace, CliError> {
    let reporter = Arc::new(TerminalReporter::new(ui, &env));
    Workspace::load(env, globals.workspace_options(), reporter)
}

/// Returns the workspace of a command that read `settings` itself.
pub(crate) fn with_settings(ui: &Ui, env: Env, globals: &Globals, settings: Settings) -> Workspace {
    let reporter = Arc::new(TerminalReporter::new(ui, &env));
    Workspace::new(env, globals.workspace_options(), settings, reporter)
}

/// Completes the clean-up of runs whose program was killed, and says what it found.
pub(crate) fn finish_interrupted_runs(ui: &mut Ui, env: &Env) {
    let Some(state) = env.state_directory() else { return };
    let found = repertoire_exec::finish_interrupted_runs(&env.working_directory().join(state));
    let renamed =
        found.renamed.iter().map(|path| (path, "created under a protected name by a run that was killed"));
    let unchecked =
        found.unchecked.iter().map(|path| (path, "could not be checked after a run that was killed"));
    for (path, what) in renamed.chain(unchecked) {
        let _ = ui.warn(&format!("{}: {what}", escape(&path.display().to_string())));
    }
}

/// Warns of skills that are not offered, hide others or are disabled by the project, and of `problems`.
pub(crate) fn report(
    ui: &mut Ui,
    workspace: &Workspace,
    snapshot: &Snapshot,
    problems: &[Problem],
) -> Result<(), CliError> {
    for notice in workspace.disabled_by_project(snapshot) {
        ui.warn(&notice)?;
    }
    let notices = notices(snapshot, problems);
    for notice in &notices {
        ui.warn(notice)?;
    }
    if !notices.is_empty() {
        ui.hint("run `rep check` to see the details")?;
    }
    Ok(())
}
