//! `rep stats`.

mod text;

use std::time::{Duration, SystemTime};

use clap::Args;
use repertoire::unused::UnusedTime;
use repertoire_app::stats::{StatsOptions, stats};

use self::text::StatsText;
use crate::age::age;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;
use crate::wire::Workspace;

/// Shows which skills and files are used, which are not, and what they cost
///
/// Counts what sessions and servers recorded, by whole days of UTC. A skill that was neither loaded, read nor
/// run for 30 days is listed as not used, with the command that disables it. Newer skills are left out. While
/// fewer days are recorded, the list covers the time since recording began, and no skill is suggested for
/// disabling. A session counts if a skill of this library was used or asked for in it.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Count what happened within this time, such as 30d, 12h or 90m
    #[arg(long, value_name = "TIME", value_parser = age, default_value = "30d")]
    since: Duration,
    /// List skills as not used after this time
    #[arg(long, value_name = "TIME", value_parser = age, default_value = "30d")]
    dead_after: Duration,
    /// Add what Claude Code and Codex recorded themselves: skills that they loaded, or whose SKILL.md they
    /// read
    #[arg(long)]
    from_clients: bool,
}

pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, args: &StatsArgs) -> Result<Exit, CliError> {
    let store = workspace.has_store().then(|| workspace.store()).transpose()?;
    let library = workspace.inspect_served(workspace.settings.policy.clone());
    let StatsArgs { since, dead_after, from_clients } = *args;
    let options = StatsOptions { since, dead_after, from_clients, now: SystemTime::now() };
    let stats = stats(workspace, &library, store.as_deref(), &options)?;
    if ui.is_json() {
        ui.write_json(&stats)?;
    } else {
        let unused =
            UnusedTime { began: stats.recording_began.clone(), length: dead_after, now: options.now };
        StatsText { stats: &stats, unused, workspace }.write(ui)?;
    }
    Ok(Exit::Success)
}
