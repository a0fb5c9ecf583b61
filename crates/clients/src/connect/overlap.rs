//! Skills that a client reads from more than one directory, and clients that have the server twice. A skill
//! that is offered twice costs its catalog entry twice, and a model may take either.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use repertoire::Snapshot;
use repertoire_model::text::{count, list};

use super::connections::{Connection, connections};
use super::own_entries::OwnEntries;
use super::plan::{ConnectPlan, ConnectStep};
use crate::disabled_clients::client_readers;
use crate::library::OpenLibrary;
use crate::link::recorded;
use crate::{CANONICAL, CLIENTS, Client, ClientReader, FileRoute, Places, SkillOnDisk};

/// The advice to take links back.
const UNDO_LINKS: &str = "take them back by their number in `rep undo --list`";

/// The skills that a client reads from files.
#[derive(Debug, Default, PartialEq, Eq)]
struct Overlap {
    /// Their names.
    names: BTreeSet<String>,
    /// The directories they are read from.
    directories: Vec<PathBuf>,
    /// The paths by which they are read.
    paths: Vec<PathBuf>,
}

impl Overlap {
    /// Returns how many there are and where, in words.
    fn in_words(&self) -> String {
        let directories: Vec<String> =
            self.directories.iter().map(|directory| directory.display().to_string()).collect();
        let directories: Vec<&str> = directories.iter().map(String::as_str).collect();
        format!(
            "{} more than once, because it reads {}",
            count(self.names.len(), "skill"),
            list(&directories)
        )
    }
}

/// Returns the names that the active skills of `snapshot` have.
pub fn offered_names(snapshot: &Snapshot) -> BTreeSet<String> {
    snapshot.active().map(|entry| entry.name().to_string()).collect()
}

/// Returns the clients with a sign on this machine: in the home directory, or among `connections`.
pub fn present(places: &Places, connections: &[Connection]) -> Vec<&'static Client> {
    let is_connected = |client: &Client| connections.iter().any(|other| other.client.id == client.id);
    CLIENTS.iter().filter(|client| places.is_there(client) || is_connected(client)).collect()
}

/// The skills that clients read from files, as they are and with planned links.
#[derive(Debug)]
pub struct ClientFiles {
    /// The links that are about to be made.
    planned: BTreeSet<PathBuf>,
    /// The links that `rep link` recorded, and so can remove.
    recorded: BTreeSet<PathBuf>,
    /// The identifiers of the clients that are connected to a server of all skills.
    connected: BTreeSet<&'static str>,
    /// The clients on this machine, and connected or linked clients.
    pub readers: Vec<ClientReader>,
    /// The skills of each name, in all places.
    skills: BTreeMap<String, Vec<SkillOnDisk>>,
}

/// Returns the identifiers of the clients among `connections` that are offered all skills.
pub fn connected_to_all(connections: &[Connection]) -> BTreeSet<&'static str> {
    let all = connections.iter().filter(|connection| !connection.is_off && connection.roots().is_empty());
    all.map(|connection| connection.client.id).collect()
}

impl ClientFiles {
    /// Returns the files around `library`, with the links `planned`, each with the real directory of its
    /// skill, for the clients on this machine, the clients with `connections`, and `also`.
    pub fn new(
        library: OpenLibrary<'_>,
        places: &Places,
        connections: &[Connection],
        planned: BTreeMap<PathBuf, PathBuf>,
        also: &[&'static Client],
    ) -> Self {
        let mut ids: Vec<&str> = connections.iter().map(|connection| connection.client.id).collect();
        ids.extend(also.iter().map(|client| client.id));
        let recorded = recorded(places);
        let connected = connected_to_all(connections);
        let links = planned.keys().cloned().collect();
        let readers = client_readers(places, library.places, planned, &ids);
        Self { planned: links, recorded, connected, readers, skills: skills_by_name(library.snapshot) }
    }

    /// Returns the routes by which the client `id` reads skills called `name`, except in plugins.
    fn routes<'f>(&'f self, id: &'f str, name: &str) -> impl Iterator<Item = &'f FileRoute> + use<'f> {
        let reader = self.readers.iter().find(move |reader| reader.client.id == id);
        let skills = self.skills.get(name).into_iter().flatten();
        let routes = reader
            .into_iter()
            .flat_map(move |reader| skills.clone().flat_map(move |skill| reader.routes(skill)));
        routes.filter(|route| route.plugin.is_none())
    }

    /// Returns the message that `client` reads some of `names` from more than one directory, and a hint what
    /// to do. `present` are the clients on this machine.
    pub fn read_twice(
        &self,
        client: &Client,
        names: &BTreeSet<String>,
        present: &[&'static Client],
    ) -> Option<(String, String)> {
        let overlap = self.read_often(client, names, 2);
        (!overlap.names.is_empty()).then(|| {
            let message = format!("{} offers {}", client.title(), overlap.in_words());
            (message, self.hint_about_directories(client, &overlap, present))
        })
    }

    /// Returns what to do about skills that `client` reads in more than one directory.
    fn hint_about_directories(
        &self,
        client: &Client,
        overlap: &Overlap,
        present: &[&'static Client],
    ) -> String {
        // The one place is never to be given up: it is what links lead to.
        let directories: Vec<&PathBuf> =
            overlap.directories.iter().filter(|directory| !directory.ends_with(CANONICAL)).collect();
        let own_in = |directory: &Path| -> Vec<&PathBuf> {
            overlap.paths.iter().filter(|path| path.parent() == Some(directory)).collect()
        };
        for directory in &directories {
            if self.needing(client, directory, overlap, present).is_empty() {
                let (own, directory) = (own_in(directory), directory.display());
                let has = |paths: &BTreeSet<PathBuf>| overlap.paths.iter().any(|path| paths.contains(path));
                return match own.iter().any(|path| self.is_ours(path)) {
                    true => format!("no other client needs the links in {directory}: {UNDO_LINKS}"),
                    // What is there may be all that links lead to.
                    false if has(&self.planned) => {
                        "`rep connect --all` instead gives every client each skill once".to_owned()
                    }
                    false if has(&self.recorded) => {
                        format!("links lead to {directory}: {UNDO_LINKS}, then run `rep connect --all`")
                    }
                    false => format!(
                        "no other client needs the copies in {directory}: `rep list --duplicates` shows if they differ"
                    ),
                };
            }
        }
        let Some(directory) = directories.first() else {
            return "keep it in the project or in the home directory; `rep list --duplicates` shows how they differ"
                .to_owned();
        };
        let needing = self.needing(client, directory, overlap, present);
        let titles: Vec<&str> = needing.iter().map(|client| client.title()).collect();
        let (titles, shown) = (list(&titles), directory.display());
        let need = if needing.len() == 1 { "needs" } else { "need" };
        let own = own_in(directory);
        let unconnected = needing.iter().map(|client| client.id).filter(|id| !self.connected.contains(id));
        let unconnected = unconnected.collect::<Vec<_>>().join(" ");
        if unconnected.is_empty() && own.iter().all(|path| self.is_ours(path)) {
            let is = if needing.len() == 1 { "is" } else { "are" };
            format!("{titles} {is} connected and {need} no links in {shown}: {UNDO_LINKS}")
        } else if own.iter().any(|path| self.planned.contains(*path)) {
            format!(
                "only {titles} {need} {shown}: `rep connect {unconnected}` instead gives every client each skill once"
            )
        } else if own.iter().all(|path| self.recorded.contains(*path)) {
            format!(
                "only {titles} {need} the links in {shown}: {UNDO_LINKS}, then run `rep connect {unconnected}`"
            )
        } else if own.iter().all(|path| path.is_symlink()) {
            format!(
                "another program made the links in {shown}, which {titles} {need}: they can stay, as they cannot differ"
            )
        } else {
            format!("{titles} {need} {shown}: run `rep list --duplicates` to make the copies one skill")
        }
    }

    /// Returns the clients other than `client` that read some of the skills in `directory` and nowhere else.
    fn needing(
        &self,
        client: &Client,
        directory: &Path,
        overlap: &Overlap,
        present: &[&'static Client],
    ) -> Vec<&'static Client> {
        let needs = |other: &&&'static Client| {
            overlap.names.iter().any(|name| {
                let mut routes = self.routes(other.id, name).peekable();
                routes.peek().is_some() && routes.all(|route| is_same(route.parent(), directory))
            })
        };
        present.iter().filter(|other| other.id != client.id).filter(needs).copied().collect()
    }

    /// Returns `true` if `rep link` made what is at `path`, or is about to.
    fn is_ours(&self, path: &Path) -> bool {
        self.recorded.contains(path) || self.planned.contains(path)
    }

    /// Returns the skills among `names` that `client` reads in at least `least` directories.
    fn read_often(&self, client: &Client, names: &BTreeSet<String>, least: usize) -> Overlap {
        let mut overlap = Overlap::default();
        for name in names {
            let routes: Vec<&FileRoute> = self.routes(client.id, name).collect();
            let parents: BTreeSet<&Path> = routes.iter().map(|route| route.parent()).collect();
            if parents.len() >= least {
                overlap.names.insert(name.clone());
                overlap.paths.extend(routes.iter().map(|route| route.path.clone()));
            }
        }
        let reader = self.readers.iter().find(|reader| reader.client.id == client.id);
        let directories = reader.into_iter().flat_map(|reader| &reader.directories);
        let is_read = |directory: &&PathBuf| {
            overlap.paths.iter().any(|path| path.parent() == Some(directory.as_path()))
        };
        overlap.directories = directories.filter(is_read).cloned().collect();
        overlap
    }
}

/// Returns the skills of `snapshot` by name, whatever their state.
pub fn skills_by_name(snapshot: &Snapshot) -> BTreeMap<String, Vec<SkillOnDisk>> {
    let mut skills: BTreeMap<String, Vec<SkillOnDisk>> = BTreeMap::new();
    for entry in snapshot.entries() {
        skills.entry(entry.name().to_string()).or_default().push(SkillOnDisk::of(entry));
    }
    skills
}

/// Returns `true` if the paths lead to one directory.
fn is_same(one: &Path, other: &Path) -> bool {
    let is_one =
        || canonicalize(one).ok().zip(canonicalize(other).ok()).is_some_and(|(one, other)| one == other);
    one == other || is_one()
}

/// Adds to each of `plans` the warning that its client has the server under another name than `name` already.
pub fn warn_of_second(ours: &OwnEntries, places: &Places, name: &str, plans: &mut [ConnectPlan]) {
    let connections = connections(ours, places);
    for plan in plans.iter_mut().filter(|plan| matches!(plan.step, Ok(ConnectStep::Write { .. }))) {
        let mut others = connections.iter().filter(|other| other.client.id == plan.client.id);
        let Some(other) = others.find(|other| other.name != name) else { continue };
        plan.warnings.push(format!(
            "{} has the server as `{}` already and will be offered every skill twice; `rep undo --list` has the number that takes it back",
            plan.client.title(),
            other.name,
        ));
    }
}
