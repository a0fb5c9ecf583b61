//! Plans the change of each client's configuration file.

use std::fs::{canonicalize, symlink_metadata};
use std::path::{Path, PathBuf};

use repertoire::change::{FileStep, MAX_FILE_BYTES, PathStep, check_user_file, read_file};
use repertoire::config::FileTrust;
use serde_json::{Map, Value};

use super::connections::Connection;
use super::own_entries::OwnEntries;
use crate::Error;
use crate::edit::{self, EditFault, Spot};
use crate::{CLIENTS, Client, Owner, Places, Server, paths};

/// The use that is made of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectAction {
    /// It is written.
    Connect,
    /// It is shown, so that no file is read.
    Show,
}

/// The entry that is meant.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// The owner of the configuration.
    pub owner: Owner,
    /// The name of the entry.
    pub name: String,
    /// The use that is made of it.
    pub action: ConnectAction,
}

/// The planned change for one client.
#[derive(Debug)]
pub struct ConnectPlan {
    /// The client.
    pub client: &'static Client,
    /// The file.
    pub path: PathBuf,
    /// The entry.
    pub entry: Map<String, Value>,
    /// The change, or the reason that there is not one.
    pub step: Result<ConnectStep, Error>,
    /// The warnings about it.
    pub warnings: Vec<String>,
}

/// The planned change of a file.
#[derive(Debug)]
pub enum ConnectStep {
    /// Nothing: the entry is right.
    Already,
    /// The file is made, or changed from `before`.
    Write {
        /// The text of the file, if there is one.
        before: Option<String>,
        /// The text with the change.
        after: String,
    },
}

impl ConnectPlan {
    /// Returns the step that makes the change.
    pub fn path_step(&self) -> Option<PathStep> {
        let Ok(ConnectStep::Write { before, after }) = &self.step else { return None };
        let (path, before) = (self.path.clone(), before.clone());
        Some(PathStep::UserFile(FileStep { path, before, after: Some(after.clone()) }))
    }

    /// Fails if the file may not be written, which does not keep the other clients from their changes.
    fn check(&mut self) {
        if let Ok(ConnectStep::Write { before, .. }) = &self.step
            && let Err(error) = check_user_file(&self.path, before.as_deref())
        {
            self.step = Err(error.into());
        }
    }
}

/// The warning about the file of a project that Codex reads.
const UNTRUSTED: &str = "Codex reads .codex/config.toml only in projects that you trust; \
    start `codex` there once and say that you do";

/// Keys of an entry that the user may change after it was made.
const USERS_KEYS: [&str; 7] =
    ["bearer_token_env_var", "env", "env_keys", "envs", "headers", "timeout", "tools"];

/// Returns whether `value` is missing or empty.
fn is_bare(value: Option<&Value>) -> bool {
    value.is_none_or(|value| value.as_object().is_some_and(Map::is_empty))
}

/// Plans for each of `clients`; one that fails does not keep the others from it.
pub fn plan(
    places: &Places,
    ours: &OwnEntries,
    clients: &[&'static Client],
    server: &Server,
    options: &ConnectOptions,
) -> Vec<ConnectPlan> {
    let planner = Planner { places, ours, server, options };
    let mut plans: Vec<ConnectPlan> = clients.iter().map(|client| planner.client(client)).collect();
    // Two clients may have one file, through a link to it or to a directory, which is written once.
    for index in 1..plans.len() {
        let (earlier, rest) = plans.split_at_mut(index);
        let (path, Ok(ConnectStep::Write { after: own, .. })) = (&rest[0].path, &rest[0].step) else {
            continue;
        };
        let real = paths::resolved(path);
        let same = earlier.iter().filter(|other| paths::resolved(&other.path) == real);
        let mut texts = same.filter_map(|other| match &other.step {
            Ok(ConnectStep::Write { after, .. }) => Some(after),
            _ => None,
        });
        rest[0].step = match texts.next() {
            None => continue,
            Some(after) if after == own => Ok(ConnectStep::Already),
            Some(_) => Err(Error::refused(format!("{} is changed for another client too", path.display()))
                .hint("run it again")),
        };
    }
    if options.action != ConnectAction::Show {
        plans.iter_mut().for_each(ConnectPlan::check);
    }
    plans
}

/// Returns the step that takes the entry of `connection` out of its file.
pub fn removal(places: &Places, connection: &Connection) -> Result<PathStep, Error> {
    let (path, before) = file_at(places, connection.owner, &connection.path)?;
    let client = connection.client;
    let spot = Spot { table: client.table, name: &connection.name };
    let after = edit::remove(client.format, before.as_deref().unwrap_or_default(), spot);
    let after = Some(after.map_err(|fault| broken(&path, &fault, REPAIR))?);
    Ok(PathStep::UserFile(FileStep { path, before, after }))
}

struct Planner<'a> {
    places: &'a Places,
    ours: &'a OwnEntries,
    server: &'a Server,
    options: &'a ConnectOptions,
}

/// A file that a client may keep its configuration in, links resolved, with its text, if it is there.
pub(crate) type Candidate = (PathBuf, Option<String>);

impl Planner<'_> {
    fn client(&self, client: &'static Client) -> ConnectPlan {
        let entry = client.entry(&self.options.name, self.server);
        let candidates = self.places.configuration(client, self.options.owner);
        let plan = |path: PathBuf, step| {
            let entry = entry.clone().unwrap_or_default();
            let is_for_codex = self.options.owner == Owner::Project && client.id == "codex";
            let is_written = matches!(step, Ok(ConnectStep::Write { .. }));
            let warnings = (is_for_codex && is_written).then(|| UNTRUSTED.to_owned()).into_iter().collect();
            ConnectPlan { client, path, entry, step, warnings }
        };
        let likeliest = candidates.last().cloned().unwrap_or_default();
        if entry.is_none() {
            return plan(likeliest, Err(unknown_shape(client)));
        }
        let is_named = matches!(self.server, Server::Http { token_variable: Some(_), .. });
        if is_named && client.token.is_none() {
            return plan(likeliest, Err(no_reference(client)));
        }
        if self.options.action == ConnectAction::Show {
            // Nothing but the entry is printed, so no file is read.
            let there = candidates.iter().find(|path| path.is_file()).or(candidates.last());
            let step = match there {
                Some(path) => self.connect(client, path, None),
                None => Err(no_file(client, self.options.owner)),
            };
            return plan(there.cloned().unwrap_or_default(), step);
        }
        match self.file(client, &candidates) {
            Ok((path, text)) => {
                let step = self.connect(client, &path, text);
                plan(path, step)
            }
            Err(error) => plan(likeliest, Err(error)),
        }
    }

    /// Returns the step that puts the entry of `client` into the file at `path`, which holds `text`.
    fn connect(&self, client: &Client, path: &Path, text: Option<String>) -> Result<ConnectStep, Error> {
        let spot = self.spot(client);
        let repair = format!("repair it, or add by hand what a dry run of `rep connect {}` shows", client.id);
        let broken = |fault| broken(path, &fault, &repair);
        let source = text.as_deref().unwrap_or_default();
        let existing = edit::read(client.format, source, spot).map_err(broken)?;
        if existing.as_ref().is_some_and(|entry| !self.ours.has(client, spot.name, entry)) {
            return Err(not_ours(path, self.options));
        }
        let existing = existing.as_ref().and_then(Value::as_object);
        // The variable of a token that is asked for is written among the user's own headers.
        let token = self.token(client);
        let is_theirs = |key: &str| {
            let is_kept = USERS_KEYS.contains(&key) && !token.contains_key(key);
            is_kept && existing.is_some_and(|entry| !is_bare(entry.get(key)))
        };
        let mut entry = client.entry(spot.name, self.server).unwrap_or_default();
        entry.retain(|key, _| !is_theirs(key));
        let theirs = existing.and_then(|entry| entry.get("headers")).and_then(Value::as_object);
        if let (Some(Value::Object(headers)), Some(theirs)) = (entry.get_mut("headers"), theirs) {
            let own = std::mem::replace(headers, theirs.clone());
            headers.extend(own);
        }
        let theirs = existing.and_then(|entry| entry.get("env_keys")).and_then(Value::as_array);
        if let (Some(Value::Array(names)), Some(theirs)) = (entry.get_mut("env_keys"), theirs) {
            let others: Vec<Value> = theirs.iter().filter(|name| !names.contains(name)).cloned().collect();
            names.extend(others);
        }
        let keys = client.keys();
        let obsolete: Vec<&str> = keys.iter().map(String::as_str).filter(|key| !is_theirs(key)).collect();
        let after = edit::write(client.format, source, spot, &entry, &obsolete).map_err(broken)?;
        Ok(if after == source { ConnectStep::Already } else { ConnectStep::Write { before: text, after } })
    }

    /// Returns the keys of an entry of `client` that name the variable of the token that is asked for.
    fn token(&self, client: &Client) -> Map<String, Value> {
        match (self.server, client.token) {
            (Server::Http { token_variable: Some(variable), .. }, Some(token)) => token.keys(variable),
            _ => Map::new(),
        }
    }

    fn spot(&self, client: &Client) -> Spot<'_> {
        Spot { table: client.table, name: &self.options.name }
    }

    /// Returns which of `candidates` gets the entry of `client`: the one that has it, or else the first that
    /// exists, or else the last candidate.
    fn file(&self, client: &Client, candidates: &[PathBuf]) -> Result<Candidate, Error> {
        let found: Result<Vec<Candidate>, Error> =
            candidates.iter().map(|path| file_at(self.places, self.options.owner, path)).collect();
        let found = found?;
        let has_entry = |(_, text): &&Candidate| {
            text.as_deref()
                .is_some_and(|text| matches!(edit::read(client.format, text, self.spot(client)), Ok(Some(_))))
        };
        let there = found.iter().find(has_entry).or_else(|| found.iter().find(|(_, text)| text.is_some()));
        there.or(found.last()).cloned().ok_or_else(|| no_file(client, self.options.owner))
    }
}

/// The advice about a file that cannot be edited.
pub(crate) const REPAIR: &str = "repair it, then run this again";

/// Returns the error about the file at `path`, which cannot be edited, with advice to `repair` it.
pub(crate) fn broken(path: &Path, fault: &EditFault, repair: &str) -> Error {
    let line = fault.line.map(|line| format!(", line {line}")).unwrap_or_default();
    Error::refused(format!("{} is left alone{line}: {}", path.display(), fault.message)).hint(repair)
}

fn no_file(client: &Client, owner: Owner) -> Error {
    match owner {
        Owner::User => {
            Error::invalid(format!("there is no home directory to keep {}'s configuration", client.title()))
                .hint("set HOME")
        }
        Owner::Project => {
            let others = CLIENTS.iter().filter(|client| !client.project.is_empty());
            let others: Vec<&str> = others.map(|client| client.id).collect();
            Error::invalid(format!("{} has no configuration of a project", client.title()))
                .hint("register it for all projects of the user")
                .hint(format!("these have one: {}", others.join(", ")))
        }
    }
}

fn unknown_shape(client: &Client) -> Error {
    let others = CLIENTS.iter().filter(|client| client.http.is_some()).map(|client| client.id);
    let others: Vec<&str> = others.collect();
    Error::invalid(format!("HTTP is not supported for {}", client.title()))
        .hint("without an address the client starts the server itself")
        .hint(format!("HTTP is supported for: {}", others.join(", ")))
}

fn no_reference(client: &Client) -> Error {
    Error::refused(format!("{} reads no environment variable in the header of a server", client.title()))
        .hint("connect it with the address alone, and write the header into its file")
}

fn not_ours(path: &Path, options: &ConnectOptions) -> Error {
    Error::refused(format!("{} has a server `{}` that is not Repertoire's", path.display(), options.name))
        .hint("register the server under another name")
}

/// Returns the file at `path`, links resolved, with its text.
pub(crate) fn file_at(places: &Places, owner: Owner, path: &Path) -> Result<Candidate, Error> {
    let path = resolved(places, owner, path)?;
    let text = read(&path)?;
    Ok((path, text))
}

/// Returns the target of `path`. A user's file may be a link, as managers of dot files make them; a project's
/// file may not link out of the project, because the link may come from a cloned repository.
fn resolved(places: &Places, owner: Owner, path: &Path) -> Result<PathBuf, Error> {
    if owner == Owner::Project {
        let trust = FileTrust::Within(places.project().to_owned());
        if trust.objection_to_path("", path).is_some() {
            return Err(Error::refused(format!("{} leads out of the project", path.display()))
                .hint("it is left alone; replace the link by a file"));
        }
    }
    match symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => canonicalize(path).map_err(|error| {
            Error::refused(format!("{} is a link that leads nowhere", path.display()))
                .because(error)
                .hint("make the file that it leads to, or remove the link")
        }),
        _ => Ok(path.to_owned()),
    }
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    let text = read_file(path, MAX_FILE_BYTES)?.map(String::from_utf8).transpose();
    text.map_err(|error| Error::refused(format!("{} is not UTF-8", path.display())).because(error))
}
