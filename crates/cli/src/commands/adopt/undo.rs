//! Shows which copies are put back, asks, and puts them back.

use std::path::Path;

use repertoire::change::ChangeSteps;
use repertoire_app::workspace::ChangeSite;
use repertoire_clients::adopt::{AdoptUndo, CopyState, RestoredCopy};
use repertoire_model::text::count;
use serde::Serialize;
use serde_json::json;

use super::args::AdoptArgs;
use crate::change_guard::ChangeGuard;
use crate::error::{CliError, not_written};
use crate::exit::Exit;
use crate::ui::{Consent, Style, Ui};
use crate::wire::Workspace;

/// A copy in the report.
#[derive(Serialize)]
struct CopyJson<'c> {
    name: &'c str,
    path: &'c str,
    /// `planned`, `restored` or `changed`.
    state: &'static str,
    reason: Option<&'static str>,
}

impl<'c> CopyJson<'c> {
    fn of(copy: &'c RestoredCopy) -> Self {
        let (state, reason) = match copy.state {
            CopyState::Planned => ("planned", None),
            CopyState::Restored => ("restored", None),
            CopyState::Changed(reason) => ("changed", Some(reason)),
        };
        Self { name: &copy.name, path: &copy.path, state, reason }
    }
}

/// Puts back the copies of the skills that are meant.
pub(super) fn run(
    ui: &mut Ui,
    workspace: &Workspace,
    args: &AdoptArgs,
    base: &Path,
    guard: &ChangeGuard,
) -> Result<Exit, CliError> {
    let places = workspace.env.places();
    let mut undo = AdoptUndo::plan(&places, &args.options(&places), base)?;
    for copy in undo.copies.iter().filter(|copy| copy.state == CopyState::Planned) {
        ui.write_planned(Some(Style::Added), &format!("< {}", copy.path))?;
    }
    ui.flush()?;
    let planned = undo.planned();
    let consent = match planned {
        _ if args.dry_run => Consent::Refused,
        0 => Consent::Given,
        number => {
            ui.consent(&format!("put {} back?", count(number, "copy").replace("copys", "copies")), args.yes)?
        }
    };
    if consent == Consent::Given {
        guard.begin();
        let site = ChangeSite::of(&workspace.env, args.owner(&places))?;
        let (lock, steps) = (site.begin()?, undo.steps()?);
        site.apply(&lock, &ChangeSteps { command: "rep adopt --undo", steps, ..ChangeSteps::default() })?;
        undo.finish(base);
    }
    report(ui, base, &undo.copies)?;
    if consent != Consent::Given && !args.dry_run {
        let what = format!("{planned} would be put back");
        return Err(not_written(consent, &what, "`--yes` puts them back without asking"));
    }
    let is_changed = undo.copies.iter().any(|copy| matches!(copy.state, CopyState::Changed(_)));
    Ok(if is_changed { Exit::No } else { Exit::Success })
}

fn report(ui: &mut Ui, base: &Path, copies: &[RestoredCopy]) -> Result<(), CliError> {
    if ui.is_json() {
        let copies: Vec<CopyJson<'_>> = copies.iter().map(CopyJson::of).collect();
        ui.write_json(&json!({"base": base.display().to_string(), "copies": copies}))?;
        return Ok(());
    }
    let restored = copies.iter().filter(|copy| copy.state == CopyState::Restored).count();
    if restored > 0 {
        let done = ui.paint(Style::Good, &format!("{restored} put back"));
        writeln!(ui.out(), "{done}")?;
    } else if copies.is_empty() {
        writeln!(ui.out(), "there is nothing to undo")?;
    }
    for copy in copies {
        if let CopyState::Changed(reason) = copy.state {
            ui.message(Style::Warning, "left alone:", &format!("{} {reason}", copy.path))?;
        }
    }
    Ok(())
}
