//! `rep doctor`.

use std::sync::Arc;

use clap::Args;
use repertoire_app::doctor;
use repertoire_app::view::{CheckStatus, CheckView, DoctorView};
use repertoire_model::text::count;

use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::ui::{Style, TerminalReporter, Ui, wrap_indented};

/// The columns before the message of a check.
const INDENT: usize = "error topic     ".len();

/// The most things to do that are shown at once.
const MOST: usize = 5;

/// Checks the set-up and says what to do
///
/// Shows the things to do, the worst first. Looks at the configuration files, every place that
/// skills are looked for, the cache, the store, the library as a whole, and the clients that are
/// connected to the MCP server. Exits with 1 when something is broken.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Show every check, those without a finding too
    #[arg(long)]
    verbose: bool,
}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, env: Env, globals: Globals, args: &DoctorArgs) -> Result<Exit, CliError> {
    let reporter = Arc::new(TerminalReporter::new(ui, &env));
    let mut checks = doctor::checks(env, &globals.workspace_options(), reporter);
    for hint in checks.iter_mut().filter_map(|check| check.hint.as_mut()) {
        *hint = ui.with_options(hint);
    }
    let worst = checks.iter().map(|check| check.status).max().unwrap_or(CheckStatus::Ok);
    let exit = if worst == CheckStatus::Error { Exit::No } else { Exit::Success };
    if ui.is_json() {
        let version = env!("CARGO_PKG_VERSION");
        ui.write_json(&DoctorView { ok: worst != CheckStatus::Error, version, checks })?;
        return Ok(exit);
    }
    if args.verbose {
        checks.iter().try_for_each(|check| write_check(ui, check))?;
        return Ok(exit);
    }
    let (mut to_do, fine): (Vec<CheckView>, Vec<CheckView>) =
        checks.into_iter().partition(|check| check.status >= CheckStatus::Warn);
    to_do.sort_by_key(|check| std::cmp::Reverse(check.status));
    to_do.iter().take(MOST).try_for_each(|check| write_check(ui, check))?;
    let fine = count(fine.len(), "check");
    let rest = match to_do.len() {
        0 => format!("nothing to do, {fine} passed"),
        number if number <= MOST => format!("{fine} passed"),
        number => format!("{} more to do, {fine} passed", number - MOST),
    };
    let all = ui.with_options("`rep doctor --verbose`");
    writeln!(ui.out(), "{rest}: {all} shows all")?;
    Ok(exit)
}

/// Writes a check with its advice.
fn write_check(ui: &mut Ui, check: &CheckView) -> std::io::Result<()> {
    let (word, style) = match check.status {
        CheckStatus::Ok => ("ok   ", Style::Good),
        CheckStatus::Info => ("info ", Style::Info),
        CheckStatus::Warn => ("warn ", Style::Warning),
        CheckStatus::Error => ("error", Style::Error),
    };
    let (word, topic) = (ui.paint(style, word), ui.paint(Style::Faint, &format!("{:<9}", check.topic)));
    let wrapped = |text: &str| wrap_indented(&ui.shown(text), ui.width(), INDENT);
    let (message, hint) = (wrapped(&check.message), check.hint.as_deref().map(wrapped));
    writeln!(ui.out(), "{word} {topic} {message}")?;
    if let Some(hint) = hint {
        let hint = ui.paint(Style::Hint, &hint);
        writeln!(ui.out(), "{:INDENT$}{hint}", "")?;
    }
    Ok(())
}
