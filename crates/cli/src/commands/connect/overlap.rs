//! Skills that a client reads from files and is offered by the server too. A skill that is offered twice costs its catalog
//! entry twice, and a model may take either.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::{DEFAULT_NAME, FORMER_NAME};
use super::connections::{Connection, connections};
use super::own_entries::OwnEntries;
use super::plan::{Plan, Step};
use crate::clients::{Client, Owner, Places};
use crate::ui::{count, escape};
use crate::wire::{Context, Library};

/// The skills that a client reads from files.
#[derive(Debug, Default, PartialEq, Eq)]
struct Overlap {
    /// Their names.
    names: BTreeSet<String>,
    /// The directories they are read from.
    directories: Vec<PathBuf>,
}

impl Overlap {
    /// Returns how many there are and where, in words.
    fn in_words(&self) -> String {
        let directories: Vec<String> =
            self.directories.iter().map(|directory| directory.display().to_string()).collect();
        format!("{} from {}", count(self.names.len(), "skill"), directories.join(" and "))
    }
}

/// Returns the names that the active skills of `library` have.
pub(crate) fn offered_names(library: &Library) -> BTreeSet<String> {
    library.snapshot.active().map(|entry| entry.name().to_string()).collect()
}

/// The directories that clients read skills from, as they are and with planned links.
///
/// The name of a directory counts as the name of the skill, whatever its `SKILL.md` says.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The directories of skills that are about to be made.
    pub(crate) planned: BTreeSet<PathBuf>,
}

impl Files {
    fn has(&self, directory: &Path, name: &str) -> bool {
        let path = directory.join(name);
        path.join("SKILL.md").is_file() || self.planned.contains(&path)
    }

    /// Returns the message that `client` is offered some of `names` twice, and a hint what to do: by its `connection` and from
    /// files, or without one from more than one directory.
    pub(crate) fn offered_twice(
        &self,
        places: &Places,
        client: &Client,
        connection: Option<&Connection>,
        names: &BTreeSet<String>,
    ) -> Option<(String, String)> {
        let least = if connection.is_some() { 1 } else { 2 };
        let overlap = self.read_often(places, client, names, least);
        if overlap.names.is_empty() {
            return None;
        }
        let read = overlap.in_words();
        Some(match connection {
            Some(connection) => (
                format!("{} is connected ({}) and also reads {read} by itself", client.title(), connection.path.display()),
                format!(
                    "a skill is best offered one way: {}, or remove the files, which `rep link --undo` does for links",
                    connection.undo_in_words()
                ),
            ),
            None => (
                format!("{} reads {read}, each of them more than once", client.title()),
                "a skill is best offered by one path: keep it in one of the directories; `rep link --undo` removes links, \
                 and `rep connect` serves the skills instead"
                    .to_owned(),
            ),
        })
    }

    fn read_often(
        &self,
        places: &Places,
        client: &Client,
        names: &BTreeSet<String>,
        least: usize,
    ) -> Overlap {
        let mut directories: Vec<PathBuf> = Vec::new();
        for directory in [Owner::Project, Owner::User].map(|owner| places.skills(client, owner)).concat() {
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        let is_often = |name: &&String| {
            directories.iter().filter(|directory| self.has(directory, name)).count() >= least
        };
        let names: BTreeSet<String> = names.iter().filter(is_often).cloned().collect();
        directories.retain(|directory| names.iter().any(|name| self.has(directory, name)));
        Overlap { names, directories }
    }
}

/// Adds to each of `plans` the warning that its client has the server under another name than `name` already.
pub(super) fn warn_of_second(ours: &OwnEntries, places: &Places, name: &str, plans: &mut [Plan]) {
    let connections = connections(ours, places);
    for plan in plans.iter_mut().filter(|plan| matches!(plan.step, Ok(Step::Write { .. }))) {
        let mut others = connections.iter().filter(|other| other.client.id == plan.client.id);
        // The former name is replaced by the usual one.
        let is_replaced = |other: &str| name == DEFAULT_NAME && other == FORMER_NAME;
        let Some(other) = others.find(|other| other.name != name && !is_replaced(&other.name)) else {
            continue;
        };
        plan.warnings.push(format!(
            "{} has the server as `{}` already and will be offered every skill twice; {}",
            plan.client.title(),
            escape(&other.name),
            other.undo_in_words(),
        ));
    }
}

/// Adds to each of `plans` the warning that its client has skills by files already.
pub(super) fn warn(context: &Context, places: &Places, plans: &mut [Plan]) {
    let names = offered_names(&context.inspect(context.settings.policy.clone()));
    for plan in plans.iter_mut().filter(|plan| matches!(plan.step, Ok(Step::Already | Step::Write { .. }))) {
        let overlap = Files::default().read_often(places, plan.client, &names, 1);
        if !overlap.names.is_empty() {
            plan.warnings.push(format!(
                "{} reads {} by itself and will be offered them twice; use one way only, see `rep doctor`",
                plan.client.title(),
                overlap.in_words()
            ));
        }
    }
}
