//! Which clients are connected: whose configuration has an entry that starts this program.

use std::path::PathBuf;

use serde_json::Value;

use super::server::is_ours;
use super::{DEFAULT_NAME, edit};
use crate::clients::{CLIENTS, Client, Owner, Places};
use crate::regular_file;
use crate::replace_file::MAX_BYTES;

/// An entry that starts this program.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: &'static Client,
    pub(crate) owner: Owner,
    pub(crate) path: PathBuf,
    /// The name of the entry.
    pub(crate) name: String,
    /// The arguments that the server is started with.
    pub(crate) args: Vec<String>,
}

impl Connection {
    /// Returns the command that undoes it.
    pub(crate) fn undo_command(&self) -> String {
        let owner = if self.owner == Owner::Project { " --project" } else { "" };
        let name = if self.name == DEFAULT_NAME { String::new() } else { format!(" --name {}", self.name) };
        format!("rep connect --undo{owner}{name} {}", self.client.id)
    }

    /// Returns the directories that the server is confined to, where it is.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let pairs = self.args.iter().zip(self.args.iter().skip(1));
        pairs.filter(|(word, _)| *word == "--root").map(|(_, root)| PathBuf::from(root)).collect()
    }
}

/// Returns the connections of all clients. Files that cannot be read or understood have none.
pub(crate) fn connections(places: &Places) -> Vec<Connection> {
    let mut found = Vec::new();
    for client in CLIENTS {
        for owner in [Owner::Project, Owner::User] {
            for path in places.configuration(client, owner) {
                found.extend(of_file(client, owner, path));
            }
        }
    }
    found
}

fn of_file(client: &'static Client, owner: Owner, path: PathBuf) -> Option<Connection> {
    let text = String::from_utf8(regular_file::read(&path, MAX_BYTES).ok()?).ok()?;
    let document = edit::parse(client.format, &text).ok()?;
    let mut entries = document.get(client.table)?.as_object()?.iter();
    let (name, entry): (&String, &Value) = entries.find(|(_, entry)| is_ours(client, entry, None))?;
    let (_, args) = client.command_line(entry)?;
    Some(Connection { client, owner, path, name: name.clone(), args })
}
