//! Connections: entries of this program in the configurations of clients.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use repertoire::change::MAX_FILE_BYTES;
use repertoire::config::{FileTrust, ProfileChoice, Settings};
use repertoire::regular_file;
use serde_json::{Map, Value};

use super::names::{DEFAULT_NAME, NAME_OF_GOOSE};
use super::own_entries::OwnEntries;
use crate::edit::{self, EditFault};
use crate::{CLIENTS, Client, Owner, Places};

/// An entry that leads to this program.
#[derive(Debug)]
pub struct Connection {
    /// The client.
    pub client: &'static Client,
    /// The owner of the configuration.
    pub owner: Owner,
    /// The file with the entry.
    pub path: PathBuf,
    /// The name of the entry.
    pub name: String,
    /// The program that is started; `None` where the server runs already.
    pub command: Option<String>,
    /// The arguments that the server is started with; none where it runs already.
    pub args: Vec<String>,
    /// True if the entry is switched off.
    pub is_off: bool,
}

/// The separator between a client and the name of an entry.
const AS: &str = " as ";

impl Connection {
    /// Returns the words for the entry called `name` of `client`: without the usual name.
    pub fn in_words(client: &Client, name: &str) -> String {
        let name = if name == DEFAULT_NAME { String::new() } else { format!("{AS}{name}") };
        format!("{}{name}", client.id)
    }

    /// Returns the reason that the client does not get the skills, and a hint, as far as the entry shows it.
    pub fn fault(&self, places: &Places) -> Option<(String, String)> {
        let (title, path) = (self.client.title(), self.path.display());
        let again = format!("run `rep connect {}`", self.client.id);
        if self.is_off {
            let hint = format!("switch the entry `{}` on in {title}", self.name);
            return Some((format!("the entry of {title} is switched off ({path})"), hint));
        }
        if self.client.id == "goose" && self.name == NAME_OF_GOOSE {
            let message =
                format!("goose replaces the entry `{NAME_OF_GOOSE}` by an extension of its own ({path})");
            return Some((message, again));
        }
        let command = self.command.as_deref().map(Path::new);
        if let Some(command) = command.filter(|command| command.components().count() > 1) {
            let file = places.project().join(command);
            if self.is_looked_at(places, &file) && !file.is_file() {
                let message = format!("{title} starts {}, which is not there ({path})", command.display());
                return Some((message, again));
            }
        } else if let Some(command) = command {
            let directories = &places.environment().search_path;
            let is_found = directories.iter().any(|directory| directory.join(command).is_file());
            if !directories.is_empty() && !is_found && !cfg!(windows) {
                let message =
                    format!("{title} starts `{}`, which is not in PATH ({path})", command.display());
                return Some((message, again));
            }
        }
        let mut files = self.values("--config").into_iter().map(|file| places.project().join(file));
        if let Some(gone) = files.find(|file| self.is_looked_at(places, file) && !file.is_file()) {
            let message = format!(
                "{title} starts with the configuration {}, which is not there ({path})",
                gone.display()
            );
            return Some((message, again));
        }
        let mut roots = self.roots().into_iter().map(|root| places.project().join(root));
        let gone = roots.find(|root| self.is_looked_at(places, root) && !root.is_dir())?;
        let message =
            format!("{title} is offered the skills of {}, which is not there ({path})", gone.display());
        Some((message, format!("{again} with directories that are there")))
    }

    /// Returns the directories that the server is restricted to, if any.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.values("--root").into_iter().map(PathBuf::from).collect()
    }

    /// Returns `true` if the server may offer the skill in `directory`, links resolved: it is restricted to
    /// no directories, or to one around it.
    pub fn may_offer(&self, places: &Places, directory: &Path) -> bool {
        let mut roots = self.roots().into_iter().map(|root| places.project().join(root));
        let has = |root: PathBuf| root.canonicalize().is_ok_and(|root| directory.starts_with(root));
        self.roots().is_empty() || roots.any(has)
    }

    /// Returns the configuration file that the server is given, if any.
    pub fn config(&self) -> Option<PathBuf> {
        self.values("--config").first().map(PathBuf::from)
    }

    /// Returns why the server refuses a word among its arguments, and a hint. It reads `settings`.
    pub fn refused_argument(&self, settings: &Settings) -> Option<(String, String)> {
        let (title, path) = (self.client.title(), self.path.display());
        let again = format!("run `rep connect {}`", self.client.id);
        let is_profile = |word: &&str| ProfileChoice::parse(word, Path::new("")).is_some();
        if let Some(profile) = self.values("--profile").into_iter().find(|word| !is_profile(word)) {
            let message =
                format!("{title} starts with the profile `{profile}`, which does not exist ({path})");
            return Some((message, format!("{again} with a profile that exists")));
        }
        let mut agents = self.values("--agent").into_iter();
        let agent = agents.find(|agent| !settings.agents.contains_key(*agent))?;
        let message = format!("{title} starts for the agent `{agent}`, which is not configured ({path})");
        Some((message, format!("configure the agent, or {again} with one that is configured")))
    }

    /// Returns the first path outside of the project that the entry of a project names. It is not looked at.
    pub fn path_outside(&self, places: &Places) -> Option<PathBuf> {
        let profiles = self.values("--profile").into_iter().filter_map(|word| {
            match ProfileChoice::parse(word, Path::new("")) {
                Some(ProfileChoice::File(file)) => Some(file.given),
                _ => None,
            }
        });
        let configs = self.values("--config").into_iter().map(PathBuf::from);
        let mut paths = configs.chain(profiles).chain(self.roots());
        paths.find(|path| !self.is_looked_at(places, &places.project().join(path)))
    }

    /// Returns whether `path` may be looked at. A project may not make us look at files outside of it.
    fn is_looked_at(&self, places: &Places, path: &Path) -> bool {
        let trust = FileTrust::Within(places.project().to_owned());
        self.owner == Owner::User || trust.objection_to_path("", path).is_none()
    }

    /// Returns the values that the server is given with `option`, as the next word or behind `=`.
    fn values<'c>(&'c self, option: &str) -> Vec<&'c str> {
        let next = self.args.iter().skip(1).map(Some).chain([None]);
        let value = |(word, next): (&'c String, Option<&'c String>)| match word.strip_prefix(option)? {
            "" => next.map(String::as_str),
            rest => rest.strip_prefix('='),
        };
        self.args.iter().zip(next).filter_map(value).collect()
    }
}

/// Returns the connections of all clients, as far as their entries are `ours`. Files that cannot be read or
/// understood have no connections.
pub fn connections(ours: &OwnEntries, places: &Places) -> Vec<Connection> {
    let files = files(places).into_iter();
    files.filter_map(|(client, owner, path)| of_file(ours, client, owner, path, None)).collect()
}

/// Returns the connections of a change, in words of [`Connection::in_words`], if their entries are `ours`.
pub fn connections_in_words(
    ours: &OwnEntries,
    places: &Places,
    owner: Owner,
    words: &[String],
) -> Vec<Connection> {
    let meant = words.iter().filter_map(|words| {
        let (id, name) = words.split_once(AS).unwrap_or((words, DEFAULT_NAME));
        Some((Client::named(id)?, name))
    });
    let found = meant.flat_map(|(client, name)| {
        let paths = places.configuration(client, owner).into_iter();
        paths.filter_map(move |path| of_file(ours, client, owner, path, Some(name)))
    });
    found.collect()
}

/// Returns the configuration files of clients that cannot be parsed, each once, with the reason.
pub fn broken_files(places: &Places) -> BTreeMap<PathBuf, (&'static Client, EditFault)> {
    let fault = |(client, _, path): (&'static Client, Owner, PathBuf)| {
        let fault = document(client, &path)?.err()?;
        Some((path, (client, fault)))
    };
    files(places).into_iter().filter_map(fault).collect()
}

/// Returns the configuration files that clients may have.
fn files(places: &Places) -> Vec<(&'static Client, Owner, PathBuf)> {
    let owners = CLIENTS.iter().flat_map(|client| [(client, Owner::Project), (client, Owner::User)]);
    let files = owners.flat_map(|(client, owner)| {
        places.configuration(client, owner).into_iter().map(move |path| (client, owner, path))
    });
    files.collect()
}

/// Returns the document in the file of `client`; `None` if the file cannot be read.
fn document(client: &Client, path: &Path) -> Option<Result<Map<String, Value>, EditFault>> {
    let text = String::from_utf8(regular_file::read(path, MAX_FILE_BYTES).ok()?).ok()?;
    Some(edit::parse(client.format, &text))
}

/// Returns the connection of `client` in the file at `path`: the one called `wanted`, or else the first.
fn of_file(
    ours: &OwnEntries,
    client: &'static Client,
    owner: Owner,
    path: PathBuf,
    wanted: Option<&str>,
) -> Option<Connection> {
    let document = document(client, &path)?.ok()?;
    let mut entries = edit::table(&document, client.table)?.as_object()?.iter();
    let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted == name);
    let (name, entry) = entries.find(|(name, entry)| is_wanted(name) && ours.has(client, name, entry))?;
    let (command, args) = client.command_line(entry).unzip();
    let is = |key: &str, value: bool| entry.get(key).and_then(Value::as_bool) == Some(value);
    let is_off = is("enabled", false) || is("disabled", true);
    let args = args.unwrap_or_default();
    Some(Connection { client, owner, path, name: name.clone(), command, args, is_off })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_their_value_in_the_next_word_or_behind_an_equals_sign() {
        let args = ["--root", "a", "serve", "--root=b", "--roots=c", "--root"];
        let args = args.map(str::to_owned).to_vec();
        let (client, owner, path, name) = (&CLIENTS[0], Owner::User, PathBuf::new(), String::new());
        let connection = Connection { client, owner, path, name, command: None, args, is_off: false };
        assert_eq!(connection.roots(), [Path::new("a"), Path::new("b")]);
    }
}
