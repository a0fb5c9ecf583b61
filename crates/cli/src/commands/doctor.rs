//! `rep doctor`.

use std::sync::Arc;

use clap::Args;
use repertoire_app::doctor;
use repertoire_app::view::{CheckStatus, CheckView, DoctorView};

use crate::env::Env;
use crate::error::CliError;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::ui::{Style, TerminalReporter, Ui, escape, wrap_indented};

/// The columns before the message of a check.
const INDENT: usize = "error topic     ".len();

/// Checks the set-up and says what to do
///
/// Looks at the configuration files, every place that skills are looked for, the cache, where
/// events are written, the library as a whole, and the clients that are connected to the MCP server.
/// Exits with 1 when something is broken.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, env: Env, globals: Globals, _args: &DoctorArgs) -> Result<Exit, CliError> {
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
    for CheckView { status, topic, message, hint } in &checks {
        let (word, style) = match status {
            CheckStatus::Ok => ("ok   ", Style::Good),
            CheckStatus::Info => ("info ", Style::Info),
            CheckStatus::Warn => ("warn ", Style::Warning),
            CheckStatus::Error => ("error", Style::Error),
        };
        let (word, topic) = (ui.paint(style, word), ui.paint(Style::Faint, &format!("{topic:<9}")));
        let message = wrap_indented(&escape(message), ui.width(), INDENT);
        writeln!(ui.out(), "{word} {topic} {message}")?;
        if let Some(hint) = hint {
            let hint = ui.paint(Style::Hint, &wrap_indented(&escape(hint), ui.width(), INDENT));
            writeln!(ui.out(), "{:INDENT$}{hint}", "")?;
        }
    }
    Ok(exit)
}
