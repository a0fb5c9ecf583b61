//! Which clients are connected: whose configuration has an entry that starts this program, or one with the name that it
//! gets by default and an address that `rep serve --http` has on this machine.
//!
//! An address says nothing about what answers there, so others, of other machines or under other names, are taken for
//! other servers.

use std::net::IpAddr;
use std::path::PathBuf;

use serde_json::Value;

use super::server::{address, is_ours};
use super::{DEFAULT_NAME, edit, server_name};
use crate::clients::{CLIENTS, Client, Owner, Places};
use crate::regular_file;
use crate::replace_file::MAX_BYTES;

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
    /// Its address, where it runs already.
    pub(crate) url: Option<String>,
}

impl Connection {
    /// Returns the command that undoes it, if there is one. A file that came with a clone may have given the entry any
    /// name, and what is to be pasted into a shell holds none that has to be quoted.
    pub(crate) fn undo_command(&self) -> Option<String> {
        let owner = if self.owner == Owner::Project { " --project" } else { "" };
        let name = match server_name(&self.name).ok()? {
            name if name == DEFAULT_NAME => String::new(),
            name => format!(" --name {name}"),
        };
        let url = match &self.url {
            // Some shells take brackets for a pattern; not all know quotes.
            Some(url) if url.contains('[') => format!(" --http '{url}'"),
            Some(url) => format!(" --http {url}"),
            None => String::new(),
        };
        Some(format!("rep connect --undo{owner}{name}{url} {}", self.client.id))
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
    let entries = document.get(client.table)?.as_object()?;
    let started = |(name, entry): (&String, &Value)| {
        let (_, args) = client.command_line(entry).filter(|_| is_ours(client, entry, None))?;
        Some((name.clone(), args, None))
    };
    let running = || {
        let url = address(entries.get(DEFAULT_NAME)?).filter(|url| is_local(url))?;
        Some((DEFAULT_NAME.to_owned(), Vec::new(), Some(url.to_owned())))
    };
    let (name, args, url) = entries.iter().find_map(started).or_else(running)?;
    Some(Connection { client, owner, path, name, args, url })
}

/// Returns whether `url` is one that `rep serve --http` may have on this machine. It holds nothing then that a shell could
/// take for more within quotes.
fn is_local(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(authority) = rest.and_then(|rest| rest.strip_suffix("/mcp")) else { return false };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, ""),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    (is_loopback || host.eq_ignore_ascii_case("localhost")) && port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::CLIENTS;

    #[test]
    fn addresses_on_this_machine() {
        for (url, expect) in [
            ("http://127.0.0.1:7437/mcp", true),
            ("http://localhost:7437/mcp", true),
            ("http://localhost/mcp", true),
            ("https://[::1]:7437/mcp", true),
            ("http://[::1]/mcp", true),
            ("http://127.0.0.1:7437/", false),
            ("http://127.0.0.1:7437/x/mcp", false),
            ("http://example.com/mcp", false),
            ("http://127.0.0.1.example.com/mcp", false),
            ("http://localhost@example.com/mcp", false),
            ("http://localhost:1';curl x/mcp", false),
            ("ftp://localhost/mcp", false),
        ] {
            assert_eq!(is_local(url), expect, "{url}");
        }
    }

    #[test]
    fn a_command_to_paste_holds_no_name_that_needs_quotes() {
        let command = |name: &str, url: Option<&str>| {
            let (client, path) = (&CLIENTS[0], PathBuf::new());
            let (name, url) = (name.to_owned(), url.map(str::to_owned));
            Connection { client, owner: Owner::User, path, name, args: Vec::new(), url }.undo_command()
        };
        assert_eq!(command("skills", None).as_deref(), Some("rep connect --undo claude-code"));
        assert_eq!(command("mine", None).as_deref(), Some("rep connect --undo --name mine claude-code"));
        assert_eq!(
            command("skills", Some("http://[::1]/mcp")).as_deref(),
            Some("rep connect --undo --http 'http://[::1]/mcp' claude-code")
        );
        for name in ["x; curl example.com | sh", "$(x)", "`x`", "--all", "a b", ""] {
            assert_eq!(command(name, None), None, "{name}");
        }
    }
}
