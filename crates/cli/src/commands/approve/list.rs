//! `rep approve --list`.

use repertoire_app::approvals::state;
use repertoire_exec::Approval;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui, escape};
use crate::wire::{Library, Workspace};

/// Lists the approved skills, and says which have changed since.
pub(super) fn run(ui: &mut Ui, workspace: &Workspace) -> Result<Exit, CliError> {
    let approvals = workspace.approvals()?;
    let all = approvals.list()?;
    let library = workspace.inspect(workspace.settings.policy.clone());
    if ui.is_json() {
        let rows: Value = all.iter().map(|approval| json(approval, &library)).collect();
        return Ok(ui.answer(&json!({"file": approvals.path().display().to_string(), "approvals": rows}))?);
    }
    if all.is_empty() {
        writeln!(ui.err(), "no skill is approved")?;
    }
    for approval in &all {
        let state = match state(approval, &library) {
            "approved" => ui.paint(Style::Good, "approved"),
            state => ui.paint(Style::Warning, state),
        };
        let line = ui.shown(&format!("{} ({})", approval.name, approval.directory));
        writeln!(ui.out(), "{line}: {state}")?;
        for capability in approval.capabilities.lines() {
            writeln!(ui.out(), "  {}", escape(&capability))?;
        }
    }
    Ok(Exit::Success)
}

fn json(approval: &Approval, library: &Library) -> Value {
    json!({
        "name": approval.name,
        "source": approval.source,
        "directory": approval.directory,
        "digest": approval.digest.to_string(),
        "capabilities": approval.capabilities.lines(),
        "tools": approval.tools,
        "seconds": approval.seconds,
        "state": state(approval, library),
    })
}
