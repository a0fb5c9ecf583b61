//! What would be done to each client's configuration file.

use std::collections::BTreeMap;
use std::fs::{canonicalize, symlink_metadata};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::ConnectArgs;
use super::edit::{self, Fault, Spot};
use super::server::is_ours;
use crate::clients::{CLIENTS, Client, Owner, Places, Server};
use crate::config::Trust;
use crate::error::CliError;
use crate::regular_file;
use crate::replace_file::MAX_BYTES;

/// What would be done for one client.
pub(super) struct Plan {
    pub(super) client: &'static Client,
    pub(super) path: PathBuf,
    pub(super) entry: Map<String, Value>,
    pub(super) step: Result<Step, CliError>,
    pub(super) warnings: Vec<String>,
}

/// What would be done to a file.
pub(super) enum Step {
    /// Nothing: the entry is right.
    Already,
    /// Nothing: there is no entry to remove.
    Absent,
    /// The file is made, or changed from `before`.
    Write { before: Option<String>, after: String },
}

/// What an entry gets when it is made and its user may change then.
const USERS_KEYS: [&str; 5] = ["env", "envs", "headers", "timeout", "tools"];

/// Returns whether `value` holds nothing that somebody put there.
fn is_bare(value: Option<&Value>) -> bool {
    value.is_none_or(|value| value.as_object().is_some_and(Map::is_empty))
}

/// Plans for each of `clients`; one that fails does not keep the others from it.
pub(super) fn plan(
    places: &Places,
    clients: &[&'static Client],
    server: &Server,
    args: &ConnectArgs,
) -> Vec<Plan> {
    // Two clients may share a file: the second edits what the first would write.
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut plans = Vec::new();
    for client in clients {
        let entry = client.entry(&args.name, server);
        let path = places.configuration(client, args.owner()).pop().unwrap_or_default();
        let mut plan = Plan {
            client,
            path,
            entry: entry.unwrap_or_default(),
            step: Ok(Step::Absent),
            warnings: Vec::new(),
        };
        plan.step = step(places, server, args, &mut plan, &texts);
        if let Ok(Step::Write { after, .. }) = &plan.step {
            texts.insert(plan.path.clone(), after.clone());
        }
        plans.push(plan);
    }
    plans
}

fn step(
    places: &Places,
    server: &Server,
    args: &ConnectArgs,
    plan: &mut Plan,
    texts: &BTreeMap<PathBuf, String>,
) -> Result<Step, CliError> {
    let client = plan.client;
    if client.entry(&args.name, server).is_none() {
        return Err(unknown_shape(client));
    }
    let spot = Spot { table: client.table, name: &args.name };
    let (path, text) = file(places, client, args.owner(), spot, texts)?;
    plan.path = path;
    let path = plan.path.display();
    let broken = |fault: Fault| {
        let line = fault.line.map(|line| format!(", line {line}")).unwrap_or_default();
        CliError::no(format!("{path} is left alone{line}: {}", fault.message))
            .hint(format!("mend it, or put in by hand what `rep connect {} --print` shows", client.id))
    };
    let source = text.as_deref().unwrap_or_default();
    let existing = edit::read(client.format, source, spot).map_err(broken)?;
    let foreign = existing.as_ref().is_some_and(|entry| !is_ours(client, entry, Some(server)));
    if args.undo {
        return match existing {
            None => Ok(Step::Absent),
            Some(_) if foreign => Err(not_ours(&plan.path, args)),
            Some(_) => {
                let after = edit::remove(client.format, source, spot).map_err(broken)?;
                Ok(Step::Write { before: text, after })
            }
        };
    }
    if foreign {
        return Err(not_ours(&plan.path, args));
    }
    let existing = existing.as_ref().and_then(Value::as_object);
    let is_theirs =
        |key: &str| USERS_KEYS.contains(&key) && existing.is_some_and(|entry| !is_bare(entry.get(key)));
    let mut entry = plan.entry.clone();
    entry.retain(|key, _| !is_theirs(key));
    let keys = client.keys();
    let obsolete: Vec<&str> = keys.iter().map(String::as_str).filter(|key| !is_theirs(key)).collect();
    let after = edit::write(client.format, source, spot, &entry, &obsolete).map_err(broken)?;
    Ok(if after == source { Step::Already } else { Step::Write { before: text, after } })
}

/// Returns the file that would be written for `client` and the entry that it would get, without a look at the file.
pub(super) fn target(
    places: &Places,
    client: &Client,
    server: &Server,
    args: &ConnectArgs,
) -> Result<(PathBuf, Map<String, Value>), CliError> {
    let entry = client.entry(&args.name, server).ok_or_else(|| unknown_shape(client))?;
    let candidates = places.configuration(client, args.owner());
    let there = candidates.iter().find(|path| path.is_file()).or(candidates.last());
    Ok((there.cloned().ok_or_else(|| no_file(client, args.owner()))?, entry))
}

/// Returns the file of `client`, links resolved, with its text, if it is there: the one that has the entry, or else the
/// first that is there, or else the last that could be.
fn file(
    places: &Places,
    client: &Client,
    owner: Owner,
    spot: Spot<'_>,
    texts: &BTreeMap<PathBuf, String>,
) -> Result<(PathBuf, Option<String>), CliError> {
    let candidates = places.configuration(client, owner);
    let mut found = Vec::new();
    for candidate in &candidates {
        let path = resolved(places, owner, candidate)?;
        let text = match texts.get(&path) {
            Some(text) => Some(text.clone()),
            None => read(&path)?,
        };
        found.push((path, text));
    }
    let has_entry = |(_, text): &&(PathBuf, Option<String>)| {
        let entry = text.as_deref().map(|text| edit::read(client.format, text, spot));
        matches!(entry, Some(Ok(Some(_))))
    };
    let there = found.iter().find(has_entry).or_else(|| found.iter().find(|(_, text)| text.is_some()));
    there.or(found.last()).cloned().ok_or_else(|| no_file(client, owner))
}

fn no_file(client: &Client, owner: Owner) -> CliError {
    match owner {
        Owner::User => {
            CliError::usage(format!("there is no home directory to keep {}'s configuration", client.title))
                .hint("set HOME")
        }
        Owner::Project => {
            let others = CLIENTS.iter().filter(|client| !client.project.is_empty());
            let others: Vec<&str> = others.map(|client| client.id).collect();
            CliError::usage(format!("{} has no configuration of a project", client.title))
                .hint("leave --project out to register it for all projects of the user")
                .hint(format!("these have one: {}", others.join(", ")))
        }
    }
}

fn unknown_shape(client: &Client) -> CliError {
    let others = CLIENTS.iter().filter(|client| client.http.is_some()).map(|client| client.id);
    let others: Vec<&str> = others.collect();
    CliError::usage(format!("it is not known how {} is told of a server that runs already", client.title))
        .hint("leave --http out to have it start one")
        .hint(format!("it is known for: {}", others.join(", ")))
}

fn not_ours(path: &Path, args: &ConnectArgs) -> CliError {
    let error =
        CliError::no(format!("{} has a server `{}` that is not Repertoire's", path.display(), args.name));
    if args.undo {
        return error
            .hint("it is left alone; remove it by hand if it is no longer wanted")
            .hint("an entry made with --http or --command is removed with the same option");
    }
    error.hint("`--name OTHER` registers the server under another name")
}

/// Returns where `path` leads. A user's file may be a link, as those who manage dot files have it; a project's may not
/// lead out of the project, because a link comes with a clone.
fn resolved(places: &Places, owner: Owner, path: &Path) -> Result<PathBuf, CliError> {
    if owner == Owner::Project {
        let trust = Trust::Within(places.project().to_owned());
        if trust.objection_to_path("", path).is_some() {
            return Err(CliError::no(format!("{} leads out of the project", path.display()))
                .hint("it is left alone; replace the link by a file"));
        }
    }
    match symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => canonicalize(path).map_err(|error| {
            CliError::no(format!("{} is a link that leads nowhere", path.display()))
                .because(error)
                .hint("make the file that it leads to, or remove the link")
        }),
        _ => Ok(path.to_owned()),
    }
}

fn read(path: &Path) -> Result<Option<String>, CliError> {
    let bytes = match regular_file::read(path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::io("read", path, error)),
    };
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|error| CliError::no(format!("{} is not UTF-8", path.display())).because(error))
}
