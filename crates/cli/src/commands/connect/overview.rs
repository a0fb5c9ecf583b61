//! `rep connect` without a client: the clients of this machine.

use repertoire_app::clients::clients;
use repertoire_app::view::{ClientView, SkillWay};
use repertoire_clients::CLIENTS;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Style, Ui};
use crate::wire::Workspace;

/// Prints a line for each client: how it gets the skills, and what to do.
pub(super) fn run(ui: &mut Ui, workspace: &Workspace) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let clients = clients(workspace, &library);
    if ui.is_json() {
        ui.write_json(&json!({ "clients": clients }))?;
        return Ok(Exit::Success);
    }
    if clients.is_empty() {
        let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
        writeln!(ui.out(), "there is no sign of a client on this machine")?;
        ui.hint(&format!("name the clients to connect: {}", ids.join(", ")))?;
    }
    for client in &clients {
        let skills = match client.ways_in_words() {
            words if words.is_empty() => "no skills".to_owned(),
            words => words,
        };
        let to_do = to_do(client).map(|words| format!("; {}", ui.shown(&words))).unwrap_or_default();
        // A line for each client, also on a narrow terminal.
        let is_wide = [client.title, &skills, &to_do].map(UnicodeWidthStr::width).iter().sum::<usize>() + 2
            > ui.width();
        let to_do = if is_wide { "; see `rep doctor`" } else { &*to_do };
        let title = ui.paint(Style::Heading, client.title);
        writeln!(ui.out(), "{title}: {skills}{to_do}")?;
    }
    Ok(Exit::Success)
}

/// Returns the thing to do for a client, if there is one.
fn to_do(client: &ClientView) -> Option<String> {
    let can_connect = CLIENTS.iter().any(|known| known.id == client.id);
    if client.connected.is_none() && can_connect && client.count(SkillWay::None) > 0 {
        return Some(format!("run `rep connect {}`", client.id));
    }
    client.advice.as_ref().map(|advice| advice.hint.clone())
}
