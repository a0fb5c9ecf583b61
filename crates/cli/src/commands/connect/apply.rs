//! Shows the plans, asks, and writes.

use repertoire::change::{ChangeSteps, WriterLock};
use repertoire_app::undo::CONNECT_HOOKS;
use repertoire_app::workspace::ChangeSite;
use repertoire_clients::Server;
use repertoire_clients::connect::{ConnectPlan, ConnectStep, Connection};
use repertoire_model::text::count;

use super::args::ConnectArgs;
use super::report::{self, ConnectOutcome, ConnectState};
use crate::error::{CliError, not_written, report_to_person};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};

/// Shows `plans`, and carries them out if that is wanted; `--dry-run` only shows the entries, or the changes
/// for hooks.
pub(super) fn run(
    ui: &mut Ui,
    site: Option<&ChangeSite>,
    lock: Option<WriterLock>,
    server: &Server,
    args: &ConnectArgs,
    plans: Vec<ConnectPlan>,
) -> Result<Exit, CliError> {
    let mut files = 0;
    for plan in &plans {
        let Ok(ConnectStep::Write { before, after }) = &plan.step else { continue };
        let path = plan.path.display().to_string();
        if args.hooks || !args.dry_run {
            ui.write_diff(&path, before.as_deref(), after)?;
            files += usize::from(!args.dry_run);
        } else if !ui.is_json() {
            let heading = format!("# {}: {path}", plan.client.title());
            ui.write_planned(Some(Style::Heading), &heading)?;
            writeln!(ui.out(), "{}", after.trim_end())?;
        }
    }
    for warning in plans.iter().flat_map(|plan| &plan.warnings) {
        ui.warn(warning)?;
    }
    let files = (files > 0).then(|| count(files, "file"));
    let consent = match &files {
        None => Consent::Given,
        Some(files) => ui.consent(&format!("write this to {files}?"), args.yes)?,
    };
    if let Some(site) = site.filter(|_| files.is_some() && consent == Consent::Given) {
        let lock = lock.map_or_else(|| site.begin(), Ok)?;
        let words = |plan: &ConnectPlan| Connection::in_words(plan.client, &args.name);
        let written = plans.iter().filter_map(|plan| Some((words(plan), plan.path_step()?)));
        let (about, steps) = written.unzip();
        let command = if args.hooks { CONNECT_HOOKS } else { "rep connect" };
        let change = ChangeSteps { command, about, steps, ..ChangeSteps::default() };
        ui.warn_all(&site.apply(&lock, &change)?)?;
    }
    let mut exit = Exit::Success;
    let mut outcomes = Vec::new();
    for plan in plans {
        let (state, error) = match plan.step {
            Ok(step) => (state(&step, args, consent), None),
            Err(error) => {
                let error = CliError::from(error);
                let code = report_to_person(&error, ui);
                exit = report::after_failure(exit, code);
                (ConnectState::Failed, Some(error.message().to_owned()))
            }
        };
        let ConnectPlan { client, path, entry, warnings, .. } = plan;
        let (client, title, path) = (client.id, client.title(), path.display().to_string());
        outcomes.push(ConnectOutcome { client, title, path, state, entry, error, warnings });
    }
    report::write(ui, server, args, &outcomes)?;
    match files.filter(|_| consent != Consent::Given) {
        None => Ok(exit),
        Some(files) => Err(not_written(consent, format!("{files} would be changed"))),
    }
}

/// Returns the state of `step` at the end.
fn state(step: &ConnectStep, args: &ConnectArgs, consent: Consent) -> ConnectState {
    match step {
        ConnectStep::Already => ConnectState::Already,
        ConnectStep::Write { .. } if args.dry_run || consent != Consent::Given => ConnectState::Planned,
        ConnectStep::Write { .. } => ConnectState::Connected,
    }
}
