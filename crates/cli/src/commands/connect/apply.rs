//! Shows the plans, asks, and writes.

use std::fs::File;
use std::path::Path;

use repertoire_clients::connect::{ConnectPlan, ConnectStep};
use repertoire_clients::{Places, Server};
use repertoire_model::text::count;

use super::args::ConnectArgs;
use super::report::{self, ConnectOutcome, ConnectState};
use crate::error::{CliError, not_written, report_to_person};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui, escape};

/// Shows `plans`, and carries them out if that is wanted; `--print` only shows the entries.
pub(super) fn run(
    ui: &mut Ui,
    places: &Places,
    server: &Server,
    args: &ConnectArgs,
    plans: Vec<ConnectPlan>,
) -> Result<Exit, CliError> {
    let mut files = 0;
    for plan in &plans {
        let Ok(ConnectStep::Write { before, after }) = &plan.step else { continue };
        let path = plan.path.display().to_string();
        if !args.print {
            ui.write_diff(&path, before.as_deref(), after)?;
            files += 1;
        } else if !ui.is_json() {
            let heading = ui.paint(Style::Heading, &format!("# {}: {}", plan.client.title(), escape(&path)));
            writeln!(ui.out(), "{heading}\n{}", after.trim_end())?;
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
    let is_asked = files.is_some() && !args.yes && consent == Consent::Given;
    let _lock = is_asked.then(|| lock(places, args));
    let mut exit = Exit::Success;
    let mut outcomes = Vec::new();
    for plan in plans {
        let step = plan.step.and_then(|step| carry_out(&plan.path, &step, args, consent));
        let (state, error) = match step {
            Ok(state) => (state, None),
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
        Some(files) => {
            let what = format!("{files} would be changed");
            Err(not_written(consent, &what, "`--yes` writes without asking"))
        }
    }
}

/// Keeps other processes from writing configurations of the same owner until the result is dropped.
pub(super) fn lock(places: &Places, args: &ConnectArgs) -> Option<File> {
    repertoire_clients::lock(&places.base(args.owner())?)
}

fn carry_out(
    path: &Path,
    step: &ConnectStep,
    args: &ConnectArgs,
    consent: Consent,
) -> Result<ConnectState, repertoire_clients::Error> {
    match step {
        ConnectStep::Already => Ok(ConnectState::Already),
        ConnectStep::Absent => Ok(ConnectState::Absent),
        ConnectStep::Write { .. } if args.print || consent != Consent::Given => Ok(ConnectState::Planned),
        ConnectStep::Write { .. } => {
            step.write(path)?;
            Ok(if args.undo { ConnectState::Removed } else { ConnectState::Connected })
        }
    }
}
