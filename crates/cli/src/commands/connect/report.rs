//! The report of what was changed, or would be.

use repertoire_clients::Server;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::args::ConnectArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::Ui;

/// The result for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ConnectState {
    /// The entry was written.
    Connected,
    /// The entry was there already.
    Already,
    /// The entry would be written.
    Planned,
    /// The change failed.
    Failed,
}

/// The result for a client, with its messages.
#[derive(Serialize)]
pub(super) struct ConnectOutcome {
    pub(super) client: &'static str,
    pub(super) title: &'static str,
    pub(super) path: String,
    pub(super) state: ConnectState,
    pub(super) entry: Map<String, Value>,
    pub(super) error: Option<String>,
    pub(super) warnings: Vec<String>,
}

/// Prints `outcomes`.
pub(super) fn write(
    ui: &mut Ui,
    server: &Server,
    args: &ConnectArgs,
    outcomes: &[ConnectOutcome],
) -> Result<(), CliError> {
    if ui.is_json() {
        return write_json(ui, server, args, outcomes);
    }
    for outcome in outcomes {
        let (title, path) = (outcome.title, ui.shown(&outcome.path));
        match outcome.state {
            ConnectState::Connected => writeln!(ui.out(), "connected {title} ({path})")?,
            ConnectState::Already => writeln!(ui.out(), "{title} is already connected ({path})")?,
            ConnectState::Planned | ConnectState::Failed => {}
        }
    }
    let purpose = if args.hooks { "to run the hooks" } else { "to see the skills" };
    match outcomes.iter().filter(|outcome| outcome.state == ConnectState::Connected).count() {
        0 => {}
        1 => ui.hint(&format!("restart the client {purpose}"))?,
        _ => ui.hint(&format!("restart the clients {purpose}"))?,
    }
    Ok(())
}

fn write_json(
    ui: &mut Ui,
    server: &Server,
    args: &ConnectArgs,
    outcomes: &[ConnectOutcome],
) -> Result<(), CliError> {
    if args.hooks {
        // Each entry has a command of its own.
        return Ok(ui.write_json(&json!({ "scope": args.owner().as_str(), "clients": outcomes }))?);
    }
    let (command, words, url) = match server {
        Server::Stdio { command, args, .. } => (Some(command.as_str()), args.as_slice(), None),
        Server::Http { url, .. } => (None, [].as_slice(), Some(url.as_str())),
    };
    ui.write_json(&json!({
        "name": args.name,
        "scope": args.owner().as_str(),
        "command": command,
        "args": words,
        "url": url,
        "clients": outcomes,
    }))?;
    Ok(())
}

/// Returns the exit code after a client failed with `code`, where it was `exit` before.
///
/// It is never [`Exit::Usage`], since other clients may have been changed.
pub(super) fn after_failure(exit: Exit, code: Exit) -> Exit {
    let code = if code == Exit::Usage { Exit::No } else { code };
    if code.code() > exit.code() { code } else { exit }
}
