//! Recognizes entries of this program, for all commands, so that they agree about which clients are
//! connected.

use std::fs::canonicalize;

use repertoire_model::loopback::is_loopback;
use serde_json::Value;

use super::names::DEFAULT_NAME;
use super::server::PROGRAM;
use crate::Places;
use crate::client::{Client, Server};

/// Recognizes entries of this program: they start `rep serve`, whatever the path, or the very file that runs
/// now, or they have the name that is given by default and an address that `rep serve --http` has on this
/// machine.
///
/// An address says nothing about what answers there, so others, of other machines or under other names, are
/// taken for other servers.
#[derive(Debug)]
pub struct OwnEntries {
    /// The paths of the program that runs, which need not be called `rep`.
    programs: Vec<String>,
    /// The server of the command line.
    asked: Option<Server>,
    /// The pieces that this program wrote into files.
    written: Vec<String>,
}

impl OwnEntries {
    /// Returns the recognizer for the running program.
    pub fn new(places: &Places) -> Self {
        let given = places.environment().executable.clone();
        let real = given.as_ref().and_then(|path| canonicalize(path).ok());
        let paths = given.into_iter().chain(real);
        let programs = paths.filter_map(|path| path.to_str().map(str::to_owned)).collect();
        Self { programs, asked: None, written: Vec::new() }
    }

    /// Returns the same, with entries that start or name just this `server`.
    pub fn or_asked(self, server: &Server) -> Self {
        Self { asked: Some(server.clone()), ..self }
    }

    /// Returns the same, with entries whose program or address stands in one of the pieces `written`.
    pub fn or_written(self, written: Vec<String>) -> Self {
        Self { written, ..self }
    }

    /// Returns whether `entry` of `client`, called `name`, is one of them.
    pub fn has(&self, client: &Client, name: &str, entry: &Value) -> bool {
        match client.command_line(entry) {
            Some((command, args)) => starts_server(&args) && self.is_program(&command),
            None => address(entry).is_some_and(|url| self.is_address(name, url)),
        }
    }

    fn is_program(&self, command: &str) -> bool {
        // Paths are compared as text: a file in a cloned repository must not cause other files to be opened.
        let is_asked = matches!(&self.asked, Some(Server::Stdio { command: asked, .. }) if asked == command);
        let is_running = self.programs.iter().any(|program| program == command);
        is_asked || is_running || self.is_written(command) || is_program_name(command)
    }

    fn is_address(&self, name: &str, url: &str) -> bool {
        let is_asked = matches!(&self.asked, Some(Server::Http { url: asked, .. }) if asked == url);
        is_asked || self.is_written(url) || (name == DEFAULT_NAME && is_local(url))
    }

    fn is_written(&self, text: &str) -> bool {
        // In JSON a backslash is written twice.
        let quoted = Value::from(text).to_string();
        self.written.iter().any(|piece| piece.contains(quoted.trim_matches('"')) && !text.is_empty())
    }
}

/// Returns whether the file of `command` has the name that this program is installed under.
pub(crate) fn is_program_name(command: &str) -> bool {
    let file = command.rsplit(['/', '\\']).next().unwrap_or_default();
    file.strip_suffix(".exe").unwrap_or(file) == PROGRAM
}

/// Returns whether `args` are those of `rep serve`, with or without global options before it.
fn starts_server(args: &[String]) -> bool {
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "serve" => return true,
            "--root" | "--config" | "--profile" | "--color" => {
                words.next();
            }
            word if word.starts_with("--") => {}
            _ => return false,
        }
    }
    false
}

/// The keys that clients have for addresses.
const ADDRESSES: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];

/// Returns the address that `entry` has, where it has one.
fn address(entry: &Value) -> Option<&str> {
    ADDRESSES.iter().find_map(|key| entry.get(key)?.as_str())
}

/// Returns whether `url` is one that `rep serve --http` may have on this machine.
fn is_local(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(authority) = rest.and_then(|rest| rest.strip_suffix("/mcp")) else { return false };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, ""),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    is_loopback(host) && port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::CLIENTS;

    fn has(name: &str, entry: Value) -> bool {
        let ours = OwnEntries { programs: vec!["/opt/skillsd".to_owned()], asked: None, written: Vec::new() };
        ours.has(&CLIENTS[0], name, &entry)
    }

    #[test]
    fn programs_are_known_by_their_name_or_because_they_run() {
        for (command, expect) in [
            ("rep", true),
            ("/old/place/rep", true),
            ("C:\\bin\\rep.exe", true),
            ("/opt/skillsd", true),
            ("/elsewhere/skillsd", false),
            ("skillsd", false),
            ("npx", false),
        ] {
            assert_eq!(
                has("x", json!({"command": command, "args": ["serve", "--stdio"]})),
                expect,
                "{command}"
            );
        }
        assert!(!has("skills", json!({"command": "rep", "args": ["list"]})));
        assert!(has(
            "x",
            json!({"command": "rep", "args": ["--root", "/skills", "--no-cache", "serve", "--stdio"]})
        ));
        assert!(!has("x", json!({"command": "rep", "args": ["--root", "serve"]})));
    }

    #[test]
    fn addresses_are_known_under_the_name_that_is_given_by_default() {
        let entry = json!({"type": "http", "url": "http://127.0.0.1:7437/mcp"});
        assert!(has(DEFAULT_NAME, entry.clone()));
        assert!(!has("skills", entry.clone()));
        assert!(!has(DEFAULT_NAME, json!({"url": "https://example.com/mcp"})));
        let asked = Server::Http { url: "http://127.0.0.1:7437/mcp".to_owned(), token_variable: None };
        let ours = OwnEntries { programs: Vec::new(), asked: None, written: Vec::new() }.or_asked(&asked);
        assert!(ours.has(&CLIENTS[0], "other", &entry));
    }

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
}
