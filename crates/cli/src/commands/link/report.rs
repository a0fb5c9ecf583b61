//! Reports the links, and the clients and skills that were left out.

use std::path::Path;

use repertoire_clients::link::{LinkStep, Occupancy, SkippedClient, Warning};
use repertoire_clients::{Owner, paths};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::LinkArgs;
use crate::error::CliError;
use crate::ui::{Style, Ui};

/// The state of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LinkState {
    /// It would be made.
    Planned,
    /// It was made.
    Linked,
    /// A copy was made.
    Copied,
    /// It was there.
    Right,
    /// Something else stands there.
    Taken,
}

/// A link in the report.
#[derive(Debug, Serialize)]
pub(super) struct LinkLine {
    pub(super) path: String,
    pub(super) to: Option<String>,
    pub(super) skill: Option<String>,
    pub(super) clients: Vec<String>,
    pub(super) state: LinkState,
    pub(super) reason: Option<String>,
}

impl LinkLine {
    /// Returns the line of `step` before it is carried out.
    pub(super) fn of(base: &Path, step: &LinkStep<'_>) -> Self {
        let (state, reason) = match &step.occupancy {
            Occupancy::Free => (LinkState::Planned, None),
            Occupancy::Right => (LinkState::Right, None),
            Occupancy::Taken(reason) => (LinkState::Taken, Some(reason.clone())),
        };
        Self {
            path: paths::shown(base, &step.path),
            to: Some(step.to.display().to_string()),
            skill: Some(step.skill.name.to_owned()),
            clients: step.client_ids(),
            state,
            reason,
        }
    }
}

/// Clients and skills that were left out, and warnings.
pub(super) struct Notes {
    pub(super) skipped: Vec<SkippedClient>,
    /// The number of skills that were left out because they lie outside.
    pub(super) left_out: usize,
    pub(super) warnings: Vec<Warning>,
}

/// Writes the report of `lines`.
pub(super) fn write(
    ui: &mut Ui,
    args: &LinkArgs,
    owner: Owner,
    base: &Path,
    lines: &[LinkLine],
    notes: &Notes,
    reached: usize,
) -> Result<(), CliError> {
    let Notes { skipped, left_out, .. } = notes;
    if ui.is_json() {
        let skipped =
            skipped.iter().map(|skipped| json!({"client": skipped.client.id, "reason": skipped.reason}));
        let warnings: Vec<&str> = notes.warnings.iter().map(|warning| warning.message.as_str()).collect();
        ui.write_json(&json!({
            "scope": owner.as_str(),
            "base": base.display().to_string(),
            "links": lines,
            "skipped": skipped.collect::<Value>(),
            "left_out": left_out,
            "warnings": warnings,
        }))?;
        return Ok(());
    }
    let count = |state| lines.iter().filter(|line| line.state == state).count();
    let done = [(count(LinkState::Linked), "linked"), (count(LinkState::Copied), "copied")];
    let done = done.into_iter().filter(|(number, _)| *number > 0);
    let done: Vec<String> = done.map(|(number, word)| format!("{number} {word}")).collect();
    let nothing_new = count(LinkState::Planned) == 0 && done.is_empty();
    if !done.is_empty() {
        let done = ui.paint(Style::Good, &done.join(", "));
        writeln!(ui.out(), "{done}")?;
    } else if nothing_new && skipped.is_empty() && count(LinkState::Taken) == 0 {
        let right = reached + count(LinkState::Right);
        let message = match right {
            0 if args.clients.is_empty() => {
                "there is nothing to link for the clients that were found; name others, as in `rep link claude-code`"
            }
            0 => "there are no skills to link",
            _ => "everything is linked already",
        };
        writeln!(ui.out(), "{message}")?;
    }
    for line in lines {
        if let Some(reason) = &line.reason {
            ui.message(Style::Warning, "left alone:", &format!("{} {reason}", line.path))?;
        }
    }
    for SkippedClient { reason, .. } in skipped {
        ui.message(Style::Warning, "left out:", reason)?;
    }
    if *left_out > 0 {
        let (place, way) = if owner == Owner::User {
            ("in the project", "with --project")
        } else {
            ("outside", "with --user")
        };
        ui.hint(&format!(
            "skills that lie {place} were not linked: {left_out}; run it {way}, or name them with --skill"
        ))?;
    }
    Ok(())
}
