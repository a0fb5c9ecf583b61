//! Which clients would be offered skills twice by the links that are about to be made.

use std::collections::BTreeSet;

use super::choice::Readers;
use super::plan::{Standing, Step};
use crate::clients::{CANONICAL, Places};
use crate::commands::connect::{Connection, Files, Overlap, command_for, told_beside, told_twice};

/// Something to know before links are made, and what to do about it.
pub(super) struct Warning {
    pub(super) message: String,
    pub(super) hint: String,
}

/// Returns what there is to know of `steps`, in the words that `rep doctor` has for it afterwards.
pub(super) fn warnings(
    places: &Places,
    connections: &[Connection],
    readers: &Readers,
    steps: &[Step<'_>],
) -> Vec<Warning> {
    let made: Vec<&Step<'_>> = steps.iter().filter(|step| matches!(step.standing, Standing::Free)).collect();
    let names: BTreeSet<String> = made.iter().map(|step| step.entry.name().to_string()).collect();
    let now = Files::default();
    let then = Files { planned: made.iter().map(|step| step.path.clone()).collect() };
    // Whom the links are for that add a directory, in the order of the table.
    let cause = |overlap: &Overlap| {
        let in_one = |step: &&&Step<'_>| {
            let folder = step.path.parent().filter(|folder| !folder.ends_with(CANONICAL));
            folder.is_some_and(|folder| overlap.directories.iter().any(|own| own == folder))
        };
        let ids: BTreeSet<&str> = made.iter().filter(in_one).flat_map(|step| step.clients.clone()).collect();
        ids.into_iter().collect::<Vec<&str>>()
    };
    let mut warnings = Vec::new();
    for client in readers.readers.iter().map(|reader| reader.client) {
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
                    told_beside(client, &path, &overlap),
                    format!("a skill is best offered one way: {way} first"),
                )
            }
            None if cause.is_empty() => (
                told_twice(client, &overlap),
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
                (told_twice(client, &overlap), hint)
            }
        };
        warnings.push(Warning { message: format!("with these links {message}"), hint });
    }
    warnings
}
