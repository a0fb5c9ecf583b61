//! What is registered: the command line of the server, from the options that were given.

use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::ConnectArgs;
use crate::cli::Globals;
use crate::clients::{Client, Owner, Places, Server};
use crate::env::{self, Env};
use crate::error::CliError;

/// The name that this program is installed under.
const PROGRAM: &str = "rep";

impl Server {
    /// Returns whether the client starts it.
    pub(super) fn is_stdio(&self) -> bool {
        matches!(self, Self::Stdio { .. })
    }
}

/// Returns the server that `args` and `globals` ask for.
pub(super) fn server(
    env: &Env,
    globals: &Globals,
    places: &Places,
    args: &ConnectArgs,
) -> Result<Server, CliError> {
    if let Some(url) = &args.http {
        return Ok(Server::Http { url: url.clone() });
    }
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| {
            CliError::usage(format!("{} is not UTF-8 and cannot be written down", path.display()))
        })
    };
    let command = match &args.command {
        // A name is looked up by the client; a path has to lead to the same file from everywhere.
        Some(path) if path.components().count() > 1 => env.working_directory().join(path),
        Some(name) => name.clone(),
        None => program(env)?,
    };
    let mut words: Vec<String> = vec!["serve".to_owned(), "--stdio".to_owned()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    for root in &globals.root {
        option("--root", text(&lasting(env, places, args.owner(), root))?);
    }
    if let Some(config) = &globals.config {
        option("--config", text(&lasting(env, places, args.owner(), config))?);
    }
    if let Some(profile) = &globals.profile {
        option("--profile", profile.clone());
    }
    if let Some(agent) = &args.agent {
        option("--agent", agent.clone());
    }
    Ok(Server::Stdio { command: text(&command)?, args: words })
}

/// Returns `given` as it is right wherever the client starts the server. What lies in a project stays relative in that
/// project's own files, which others share.
fn lasting(env: &Env, places: &Places, owner: Owner, given: &Path) -> PathBuf {
    let path = env.working_directory().join(given);
    let path = canonicalize(&path).unwrap_or(path);
    match owner {
        Owner::Project => path.strip_prefix(places.project()).map_or(path.clone(), |inner| match inner {
            inner if inner.as_os_str().is_empty() => PathBuf::from("."),
            inner => inner.to_owned(),
        }),
        Owner::User => path,
    }
}

/// Returns how this program is started: by its name where that is found first, and else by its path.
fn program(env: &Env) -> Result<PathBuf, CliError> {
    let executable = env.executable().ok_or_else(|| {
        CliError::usage("it is not known which file this program is").hint("name it with --command")
    })?;
    let file = if cfg!(windows) { "rep.exe" } else { PROGRAM };
    let first =
        env.paths(env::PATH).into_iter().map(|directory| directory.join(file)).find(|file| file.is_file());
    let is_this = first.is_some_and(|first| match (canonicalize(first), canonicalize(executable)) {
        (Ok(first), Ok(this)) => first == this,
        _ => false,
    });
    Ok(if is_this { PathBuf::from(PROGRAM) } else { executable.to_owned() })
}

/// Returns whether `entry` of `client` is one that this command wrote: it starts `rep serve`, or just what is `wanted`.
pub(super) fn is_ours(client: &Client, entry: &Value, wanted: Option<&Server>) -> bool {
    match (client.command_line(entry), wanted) {
        (Some((command, args)), wanted) => {
            let file = command.rsplit(['/', '\\']).next().unwrap_or_default();
            let is_program = file.strip_suffix(".exe").unwrap_or(file) == PROGRAM;
            let is_wanted =
                matches!(wanted, Some(Server::Stdio { command: wanted, .. }) if *wanted == command);
            (is_program || is_wanted) && args.first().is_some_and(|word| word == "serve")
        }
        (None, Some(server @ Server::Http { .. })) => {
            let written = client.entry("", server).unwrap_or_default();
            let address = written.iter().find(|(key, _)| is_address(key));
            address.is_some_and(|(key, address)| entry.get(key) == Some(address))
        }
        (None, _) => false,
    }
}

fn is_address(key: &str) -> bool {
    matches!(key, "url" | "httpUrl" | "serverUrl" | "uri")
}
