//! The description of a client.

use repertoire::discovery::ClientDirectories;
use serde_json::{Map, Value, json};

use crate::hook::HookRule;
use crate::listing::ListingRule;

/// A program that speaks MCP, reads skills, or both.
#[derive(Debug)]
pub struct Client {
    /// Its name on the command line.
    pub id: &'static str,
    /// Other names on the command line.
    pub aliases: &'static [&'static str],
    /// Its user's configuration file: the first of these that is there, or else the last; see `places.rs`.
    pub user: &'static [&'static str],
    /// The same on Windows, where that is another place.
    pub windows: &'static [&'static str],
    /// Its configuration file in a project, if it reads one there.
    pub project: &'static [&'static str],
    /// The format of its configuration file.
    pub format: Format,
    /// The key of the table of servers, or in JSON its keys with `/` between them.
    pub table: &'static str,
    /// Returns the entry of a server that it starts, from name, command and arguments.
    pub stdio: fn(&str, &str, &[String]) -> Value,
    /// Returns the entry of a server that runs already, from name and address, if its form is known.
    pub http: Option<fn(&str, &str) -> Value>,
    /// The way its configuration names the environment variable with the token of such a server, if it can.
    pub token: Option<TokenReference>,
    /// True if it is started without the user's shell, and so does not have their `PATH`.
    pub is_desktop: bool,
    /// The rule by which it lists skills to its model, if that is known.
    pub listing: Option<&'static ListingRule>,
    /// Its hooks that may add text to a prompt, if it has some.
    pub hooks: Option<&'static HookRule>,
}

/// The way in which a configuration file names the environment variable with the token of a server.
#[derive(Debug, Clone, Copy)]
pub enum TokenReference {
    /// In the header `Authorization`, between these two texts.
    Header(&'static str, &'static str),
    /// Like that, and in the list `env_keys` of variables.
    ListedHeader(&'static str, &'static str),
    /// As the value of this key.
    Key(&'static str),
}

impl TokenReference {
    /// Returns the keys of an entry that name `variable`.
    pub(crate) fn keys(self, variable: &str) -> Map<String, Value> {
        let header = |before, behind| {
            let value = format!("Bearer {before}{variable}{behind}");
            ("headers".to_owned(), json!({ "Authorization": value }))
        };
        match self {
            Self::Key(key) => Map::from_iter([(key.to_owned(), variable.into())]),
            Self::Header(before, behind) => Map::from_iter([header(before, behind)]),
            Self::ListedHeader(before, behind) => {
                Map::from_iter([header(before, behind), ("env_keys".to_owned(), json!([variable]))])
            }
        }
    }
}

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, perhaps with comments.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// A server to be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// One that the client starts.
    Stdio {
        /// The program, as a shell finds it.
        command: String,
        /// The program, by its full path.
        path: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// One that runs already.
    Http {
        /// Its address.
        url: String,
        /// The environment variable with its token.
        token_variable: Option<String>,
    },
}

/// The arguments of a server without options.
pub(crate) const SERVE: [&str; 2] = ["serve", "--stdio"];

impl Client {
    /// Returns its row in the table of directories that clients read skills from.
    pub fn directories(&self) -> &'static ClientDirectories {
        ClientDirectories::of(self.id)
    }

    /// Returns its name as written by its makers.
    pub fn title(&self) -> &'static str {
        self.directories().title
    }

    /// Returns the entry of `server` under `name`, if it is known how this client writes such a one. It names
    /// the variable with the token of the server only if the client can.
    pub fn entry(&self, name: &str, server: &Server) -> Option<Map<String, Value>> {
        let entry = match server {
            Server::Stdio { path, args, .. } if self.is_desktop => (self.stdio)(name, path, args),
            Server::Stdio { command, args, .. } => (self.stdio)(name, command, args),
            Server::Http { url, token_variable } => {
                let mut entry = self.http?(name, url);
                if let (Some(token), Some(variable)) = (self.token, token_variable)
                    && let Value::Object(entry) = &mut entry
                {
                    entry.extend(token.keys(variable));
                }
                entry
            }
        };
        match entry {
            Value::Object(map) => Some(map),
            _ => None,
        }
    }

    /// Returns every key that an entry of ours may have, whichever way the server is reached.
    pub fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        let token = self.token.map(|token| token.keys("").into());
        for entry in [Some((self.stdio)("", "", &[])), self.http.map(|http| http("", "")), token] {
            keys.extend(entry.iter().filter_map(Value::as_object).flat_map(Map::keys).cloned());
        }
        keys
    }

    /// Returns the command line that `entry` starts, however this client writes it.
    pub fn command_line(&self, entry: &Value) -> Option<(String, Vec<String>)> {
        let words = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let command = entry.get("command").or_else(|| entry.get("cmd"))?;
        match command {
            Value::String(command) => {
                let args = entry.get("args").map_or(Some(Vec::new()), words)?;
                Some((command.clone(), args))
            }
            command => {
                let mut words = words(command)?.into_iter();
                Some((words.next()?, words.collect()))
            }
        }
    }
}
