//! `rep clients`.

use clap::Args;
use repertoire_app::clients::clients;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::ui::{Align, Column, Style, Table, Ui};
use crate::wire::Workspace;

/// Shows which clients on this machine get which skills
///
/// A client gets a skill from files, over MCP from the server, twice, or not at all; `off` is a skill that `rep disable` switched
/// off in the client's own configuration. The clients are those of which there
/// is a sign in the home directory. For a client that is offered skills twice it says what to do.
#[derive(Debug, Args)]
pub(crate) struct ClientsArgs {}

/// Runs the command.
pub(crate) fn run(ui: &mut Ui, workspace: &Workspace, _args: &ClientsArgs) -> Result<Exit, CliError> {
    let library = workspace.inspect(workspace.settings.policy.clone());
    let clients = clients(workspace, &library);
    if ui.is_json() {
        ui.write_json(&json!({ "clients": clients }))?;
        return Ok(Exit::Success);
    }
    let Some(first) = clients.first() else {
        writeln!(ui.out(), "there is no sign of a client that reads skills")?;
        return Ok(Exit::Success);
    };
    let column = |heading, style| Column { heading, align: Align::Left, style };
    let mut columns = vec![column("SKILL", Some(Style::Name))];
    columns.extend(clients.iter().map(|client| column(client.id, None)));
    let mut table = Table::new(columns);
    for (at, skill) in first.skills.iter().enumerate() {
        let state = if skill.disabled { " (disabled)" } else { "" };
        table.cell(format!("{}{state}", skill.name));
        for client in &clients {
            table.cell(client.skills[at].way.in_a_word());
        }
    }
    table.write(ui)?;
    ui.flush()?;
    for client in clients.iter().filter(|client| !client.skills.is_empty()) {
        let title = ui.paint_err(Style::Heading, client.title);
        writeln!(ui.err(), "{title}: {}", client.ways_in_words())?;
    }
    for advice in clients.iter().filter_map(|client| client.advice.as_ref()) {
        ui.warn(&advice.reason)?;
        ui.hint(&advice.hint)?;
    }
    Ok(Exit::Success)
}
