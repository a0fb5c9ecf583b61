//! `rep approvals`.

use clap::Args;
use repertoire::Entry;
use repertoire_exec::Approval;
use repertoire_model::{Capabilities, Digest, Toolbox};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui, escape};
use crate::wire::{Context, Library};

/// Lists the approved skills, and whether they have changed since
#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, context: &Context, _: &ApprovalsArgs) -> Result<Exit, CliError> {
    let approvals = context.approvals()?;
    let all = approvals.list()?;
    let library = context.inspect(context.settings.policy.clone());
    if ui.is_json() {
        let rows: Value = all.iter().map(|approval| json(approval, &library)).collect();
        ui.write_json(&json!({"file": approvals.path().display().to_string(), "approvals": rows}))?;
        return Ok(Exit::Success);
    }
    if all.is_empty() {
        writeln!(ui.err(), "no skill is approved")?;
    }
    for approval in &all {
        let state = match state(approval, &library) {
            "approved" => ui.paint(Style::Good, "approved"),
            state => ui.paint(Style::Warning, state),
        };
        let line = format!("{} ({})", approval.name, approval.directory);
        writeln!(ui.out(), "{}: {state}", escape(&line))?;
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

/// Returns the state of the approval of `entry`, if there is one.
pub(crate) fn state_of(
    context: &Context,
    entry: &Entry,
    digest: &Digest,
    toolbox: &Toolbox,
) -> Option<String> {
    let approval = context.approvals().ok()?.find(entry).ok()??;
    Some(state_of_content(&approval, Some(digest), || toolbox.clone()).to_owned())
}

/// Returns whether the skill is as it was approved; skills of other projects are not looked up.
fn state(approval: &Approval, library: &Library) -> &'static str {
    let Some(entry) = library.snapshot.entries().iter().find(|entry| approval.is_of(entry)) else {
        return "not in this library";
    };
    let bundle = pollster::block_on(library.registry.bundle(entry)).ok();
    let digest = bundle.map(|bundle| bundle.digest());
    state_of_content(approval, digest.as_ref(), || pollster::block_on(library.registry.toolbox(entry)))
}

/// Returns whether a bundle with `digest` and the tools `toolbox` is as it was approved.
fn state_of_content(
    approval: &Approval,
    digest: Option<&Digest>,
    toolbox: impl FnOnce() -> Toolbox,
) -> &'static str {
    // Those of a `tools.py` were read when it was approved, and hold for its digest.
    let toolbox = match &approval.schema {
        Some(schema) => Toolbox::read(schema.as_bytes()).0,
        None => toolbox(),
    };
    match digest {
        Some(digest) if approval.holds(digest, &Capabilities::of(&toolbox)) => "approved",
        _ => "changed since",
    }
}
