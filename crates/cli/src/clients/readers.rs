//! The clients on this machine, and the skills that each of them finds in files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{canonicalize, read_dir};
use std::path::{Path, PathBuf};

use repertoire::discovery::{CLIENT_DIRECTORIES, ClientDirectories};

use super::places::{Owner, Places};

/// The most entries of a directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// A client, which may read skills from files.
#[derive(Debug)]
pub(crate) struct ClientReader {
    /// The client.
    pub(crate) client: &'static ClientDirectories,
    /// The directories that it reads and that are there, its own first, as the table names them.
    pub(crate) directories: Vec<PathBuf>,
    /// The skills in each of them, by the names of their directories.
    skills: Vec<BTreeSet<String>>,
}

impl ClientReader {
    /// Returns the number of directories in which the client finds a skill called `name`.
    pub(crate) fn times(&self, name: &str) -> usize {
        self.skills.iter().filter(|skills| skills.contains(name)).count()
    }

    /// Returns `true` if the client reads the skill in one of the directories `routes`.
    pub(crate) fn reads(&self, routes: &[PathBuf]) -> bool {
        let is_read = |route: &PathBuf| {
            let (Some(parent), Some(name)) = (route.parent(), route.file_name()) else { return false };
            let parent = resolved(parent);
            let is_parent = |directory: &PathBuf| resolved(directory) == parent;
            self.directories.iter().any(is_parent) && name.to_str().is_some_and(|name| self.times(name) > 0)
        };
        routes.iter().any(is_read)
    }
}

/// The directories of clients below which they install plugins.
const PLUGINS: [(&str, &str); 3] =
    [("claude-code", "$CLAUDE/plugins"), ("codex", "$CODEX/plugins"), ("cursor", "~/.cursor/plugins")];

/// Returns the clients of which there is a sign on this machine, with the skills that they read in the projects `projects`, for the
/// user, and in those of `plugins`, directories of skills of plugins, that they have installed.
pub(crate) fn readers(places: &Places, projects: &[PathBuf], plugins: &[PathBuf]) -> Vec<ClientReader> {
    let mut listed: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let clients = CLIENT_DIRECTORIES.iter().filter(|client| places.has_sign_of(client));
    clients
        .map(|client| {
            let of_projects =
                projects.iter().flat_map(|project| client.project.iter().map(|name| project.join(name)));
            let of_user = places.directories(client, Owner::User);
            let mut reader = ClientReader { client, directories: Vec::new(), skills: Vec::new() };
            let mut seen = BTreeSet::new();
            let own = PLUGINS.iter().find(|(id, _)| *id == client.id);
            let own = own.and_then(|(_, template)| places.path(Owner::User, template));
            let of_plugins =
                plugins.iter().filter(|path| own.as_ref().is_some_and(|own| path.starts_with(own)));
            for directory in of_projects.chain(of_user).chain(of_plugins.cloned()) {
                // One directory under two names is read once.
                let Ok(real) = canonicalize(&directory) else { continue };
                if seen.insert(real.clone()) {
                    let skills = listed.entry(real).or_insert_with_key(|real| skills_in(real)).clone();
                    reader.directories.push(directory);
                    reader.skills.push(skills);
                }
            }
            reader
        })
        .collect()
}

/// Returns `true` if the plugin at `path` is one that the client `id` has installed.
pub(crate) fn has_installed(places: &Places, id: &str, path: &Path) -> bool {
    let own = PLUGINS.iter().find(|(client, _)| *client == id);
    own.and_then(|(_, template)| places.path(Owner::User, template)).is_some_and(|own| path.starts_with(own))
}

/// Returns the names of the directories in `directory` that hold a `SKILL.md`.
fn skills_in(directory: &Path) -> BTreeSet<String> {
    let entries = read_dir(directory).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| directory.join(name).join("SKILL.md").is_file()).collect()
}

fn resolved(path: &Path) -> PathBuf {
    canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
