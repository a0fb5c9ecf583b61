//! `rep revoke`.

use clap::Args;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Workspace;

/// Revokes the approval of a skill, so that it can no longer run anything
#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The skill, which need not exist any more
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &RevokeArgs) -> Result<Exit, CliError> {
    let revoked = workspace.approvals()?.revoke(|approval| approval.name == args.name)?;
    if revoked.is_empty() {
        return Err(CliError::no(format!("no skill `{}` is approved", args.name))
            .hint("run `rep approve --list` to see which are"));
    }
    if ui.is_json() {
        let directories: Vec<&str> = revoked.iter().map(|approval| approval.directory.as_str()).collect();
        return Ok(ui.answer(&json!({"name": args.name, "directories": directories}))?);
    }
    for approval in &revoked {
        ui.write_planned(None, &format!("{}: revoked ({})", approval.name, approval.directory))?;
    }
    Ok(Exit::Success)
}
