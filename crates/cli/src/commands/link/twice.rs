//! Warnings about clients that would be offered skills twice by the planned links.

use std::collections::BTreeSet;

use super::notes::Warning;
use super::plan::{Occupancy, Step};
use crate::clients::{CANONICAL, Client, Places};
use crate::commands::connect::{Connection, Files, Overlap, command_for, describe_beside, describe_twice};

/// Returns the warnings about `steps` for `clients`, in the words that `rep doctor` has afterwards.
pub(super) fn warnings(
    places: &Places,
    connections: &[Connection],
    clients: &[&'static Client],
    steps: &[Step<'_>],
) -> Vec<Warning> {
    let made: Vec<&Step<'_>> =
        steps.iter().filter(|step| matches!(step.occupancy, Occupancy::Free)).collect();
    let names: BTreeSet<String> = made.iter().map(|step| step.entry.name().to_string()).collect();
    let now = Files::default();
    let then = Files { planned: made.iter().map(|step| step.path.clone()).collect() };
    // The clients of the links that add a directory, in the order of the table.
    let cause = |overlap: &Overlap| {
        let in_one = |step: &&&Step<'_>| {
            let folder = step.path.parent().filter(|folder| !folder.ends_with(CANONICAL));
            folder.is_some_and(|folder| overlap.directories.iter().any(|own| own == folder))
        };
        let ids: BTreeSet<&str> = made.iter().filter(in_one).flat_map(|step| step.clients.clone()).collect();
        ids.into_iter().collect::<Vec<&str>>()
    };
    let mut warnings = Vec::new();
    for client in clients {
        let connection = connections.iter().find(|connection| connection.client.id == client.id);
        let read = |files: &Files, names: &BTreeSet<String>| match connection {
            // What a server offers that is confined to directories of its own is not known here.
            Some(connection) if !connection.roots().is_empty() => Overlap::default(),
            Some(_) => files.read_by(places, client, names),
            None => files.read_twice_by(places, client, names),
        };
        let before = read(&now, &names).names;
        let overlap = read(&then, &names.difference(&before).cloned().collect());
        if overlap.names.is_empty() {
            continue;
        }
        let cause = cause(&overlap);
        let (message, hint) = match connection {
            Some(connection) => {
                let undo = connection.undo_command();
                let way = undo.map_or_else(|| "disconnect it".to_owned(), |undo| format!("run `{undo}`"));
                let path = connection.path.display().to_string();
                (
                    describe_beside(client, &path, &overlap),
                    format!("a skill is best offered one way: {way} first"),
                )
            }
            None if cause.is_empty() => (
                describe_twice(client, &overlap),
                "a skill is best offered by one path: keep it in one of the directories".to_owned(),
            ),
            None => {
                let way = match command_for(connections, &cause) {
                    Some(command) => format!("and serve the skills instead with `{command}`"),
                    None => "because the server offers the skills already".to_owned(),
                };
                let hint = format!(
                    "a skill is best offered by one path: link nothing for {}, {way}",
                    cause.join(" ")
                );
                (describe_twice(client, &overlap), hint)
            }
        };
        warnings.push(Warning { message: format!("with these links {message}"), hint });
    }
    warnings
}
