//! `rep outdated`.

use std::path::PathBuf;

use clap::Args;
use repertoire_app::install::{checks, newest_in_words, short, word};
use repertoire_sources::{Newest, UpdateCheck};
use serde_json::Value;

use crate::complete::skill_names;
use crate::error::CliError;
use crate::exit::Exit;
use crate::json;
use crate::ui::{Align, Column, Style, Table, Ui};
use crate::wire::Workspace;

/// Lists added skills that are not up to date
///
/// The sources are asked for their newest versions. Skills that a source renamed or removed are listed, too.
#[derive(Debug, Args)]
pub(crate) struct OutdatedArgs {
    /// The skills; all by default
    #[arg(value_name = "NAME", add = skill_names())]
    names: Vec<String>,
    /// Look at the skills of the user instead of the project
    #[arg(long)]
    user: bool,
    /// A file with the token for the server of an index
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    token_file: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &OutdatedArgs) -> Result<Exit, CliError> {
    let (_, checks) = checks(workspace, ui.git_prompt(), &args.names, args.user, args.token_file.as_deref())?;
    if ui.is_json() {
        let skills: Vec<Value> = checks.iter().map(json::update_check).collect();
        ui.write_json(&serde_json::json!({ "skills": skills }))?;
        return Ok(exit(&checks));
    }
    let outdated: Vec<&UpdateCheck> =
        checks.iter().filter(|check| !matches!(check.newest, Newest::Current)).collect();
    if outdated.is_empty() {
        writeln!(ui.out(), "everything is up to date")?;
        return Ok(Exit::Success);
    }
    let column = |heading, align, style| Column { heading, align, style };
    let mut table = Table::new(vec![
        column("NAME", Align::Left, Some(Style::Name)),
        column("STATE", Align::Left, None),
        column("HERE", Align::Left, Some(Style::Faint)),
        column("NEWEST", Align::Left, None),
        column("SOURCE", Align::Elastic, Some(Style::Faint)),
    ]);
    for check in &outdated {
        table.cell(check.locked.name.as_str());
        table.cell(word(&check.newest));
        table.cell(short(check.locked.resolved.as_deref(), &check.locked.digest.to_string()));
        table.cell(newest_in_words(&check.newest).unwrap_or_default());
        table.cell(&*check.locked.source);
    }
    table.write(ui)?;
    if outdated.iter().any(|check| matches!(check.newest, Newest::Changed(_))) {
        ui.hint("run `rep update` to see the changes and take them over")?;
    }
    if outdated.iter().any(|check| matches!(check.newest, Newest::Renamed(_))) {
        ui.hint("run `rep update --rename` to take over new names, too")?;
    }
    Ok(exit(&checks))
}

/// Returns no if the newest state of a skill cannot be used, or its source could not be asked.
fn exit(checks: &[UpdateCheck]) -> Exit {
    let is_failure = |check: &UpdateCheck| matches!(check.newest, Newest::Broken(_) | Newest::Unreachable(_));
    if checks.iter().any(is_failure) { Exit::No } else { Exit::Success }
}
