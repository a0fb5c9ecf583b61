//! `rep approvals`.

use clap::Args;
use repertoire_exec::Approval;
use repertoire_model::Capabilities;
use serde::Serialize;

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui, escape};
use crate::wire::{Context, Library};

/// Lists the approved skills, and whether they have changed since
#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {}

#[derive(Serialize)]
struct ApprovalsJson {
    file: String,
    approvals: Vec<ApprovalJson>,
}

#[derive(Serialize)]
struct ApprovalJson {
    name: String,
    source: String,
    directory: String,
    digest: String,
    capabilities: Vec<String>,
    tools: Vec<String>,
    seconds: u64,
    state: &'static str,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, _: &ApprovalsArgs) -> Result<Exit, CliError> {
    let approvals = context.approvals()?;
    let all = approvals.list()?;
    let library = context.inspect(context.settings.policy.clone());
    let rows: Vec<ApprovalJson> = all.into_iter().map(|approval| row(approval, &library)).collect();
    if ui.is_json() {
        ui.write_json(&ApprovalsJson { file: approvals.path().display().to_string(), approvals: rows })?;
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        writeln!(ui.err(), "no skill is approved")?;
    }
    for row in rows {
        let state = match row.state {
            "approved" => ui.paint(Style::Good, "approved"),
            state => ui.paint(Style::Warning, state),
        };
        let line = escape(&format!("{} ({})", row.name, row.directory)).into_owned();
        writeln!(ui.out(), "{line}: {state}")?;
        for capability in &row.capabilities {
            let line = escape(capability).into_owned();
            writeln!(ui.out(), "  {line}")?;
        }
    }
    Ok(Exit::Success)
}

fn row(approval: Approval, library: &Library) -> ApprovalJson {
    let state = state(&approval, library);
    ApprovalJson {
        name: approval.name,
        source: approval.source,
        directory: approval.directory,
        digest: approval.digest.to_string(),
        capabilities: approval.capabilities.lines(),
        tools: approval.tools,
        seconds: approval.seconds,
        state,
    }
}

/// Returns whether the skill is as it was approved; skills of other projects are not looked up.
fn state(approval: &Approval, library: &Library) -> &'static str {
    let Some(entry) = library.snapshot.entries().iter().find(|entry| approval.is_of(entry)) else {
        return "not in this library";
    };
    let bundle = pollster::block_on(library.registry.bundle(entry));
    let capabilities = Capabilities::of(&pollster::block_on(library.registry.toolbox(entry)));
    match bundle {
        Ok(bundle) if approval.holds(&bundle.digest(), &capabilities) => "approved",
        _ => "changed since",
    }
}
