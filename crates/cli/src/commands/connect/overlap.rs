//! Skills that a client reads from files and is offered by the server too. A skill that is offered twice costs its catalog
//! entry twice, and a model may take either.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::connections::connections;
use super::ours::Ours;
use super::plan::{Plan, Step};
use crate::clients::{Client, Owner, Places};
use crate::ui::escape;
use crate::wire::{Context, Library};

/// The skills that a client reads from files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Overlap {
    /// Their names.
    pub(crate) names: BTreeSet<String>,
    /// The directories they are read from.
    pub(crate) directories: Vec<PathBuf>,
}

impl Overlap {
    /// Returns how many there are and where, in words.
    pub(crate) fn in_words(&self) -> String {
        let skills = match self.names.len() {
            1 => "1 skill".to_owned(),
            number => format!("{number} skills"),
        };
        let directories: Vec<String> =
            self.directories.iter().map(|directory| directory.display().to_string()).collect();
        format!("{skills} from {}", directories.join(" and "))
    }
}

/// Returns the names that the active skills of `library` have.
pub(crate) fn offered_names(library: &Library) -> BTreeSet<String> {
    library.snapshot.active().map(|entry| entry.name().to_string()).collect()
}

/// The directories that clients read skills from, as they are and with planned links.
///
/// A directory is taken for the skill that it is called after, whatever its `SKILL.md` says.
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

    /// Returns which of `names` the `client` reads from files, in the project and of the user.
    pub(crate) fn read_by(&self, places: &Places, client: &Client, names: &BTreeSet<String>) -> Overlap {
        self.read_often(places, client, names, 1)
    }

    /// Returns which of `names` the `client` reads from more than one directory.
    pub(crate) fn read_twice_by(
        &self,
        places: &Places,
        client: &Client,
        names: &BTreeSet<String>,
    ) -> Overlap {
        self.read_often(places, client, names, 2)
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

/// Returns the message that `client` reads the skills of `twice` by more than one path.
pub(crate) fn describe_twice(client: &Client, twice: &Overlap) -> String {
    format!("{} reads {}, each of them more than once", client.title, twice.in_words())
}

/// Returns the message that a client is connected by the file at `path` and reads the skills of `overlap` from files too.
pub(crate) fn describe_beside(client: &Client, path: &str, overlap: &Overlap) -> String {
    format!("{} is connected ({path}) and also reads {} by itself", client.title, overlap.in_words())
}

/// Adds to each of `plans` the warning that its client has the server under another name than `name` already.
pub(super) fn warn_of_second(ours: &Ours, places: &Places, name: &str, plans: &mut [Plan]) {
    let connections = connections(ours, places);
    for plan in plans.iter_mut().filter(|plan| matches!(plan.step, Ok(Step::Write { .. }))) {
        let mut others = connections.iter().filter(|other| other.client.id == plan.client.id);
        let Some(other) = others.find(|other| other.name != name) else { continue };
        let way = match other.undo_command() {
            Some(command) => format!("`{command}` removes that"),
            None => format!("remove that from {} by hand", other.path.display()),
        };
        plan.warnings.push(format!(
            "{} has the server as `{}` already and will be offered every skill twice; {way}",
            plan.client.title,
            escape(&other.name)
        ));
    }
}

/// Adds to each of `plans` the warning that its client has skills by files already.
pub(super) fn warn(context: &Context, places: &Places, plans: &mut [Plan]) {
    let names = offered_names(&context.inspect(context.settings.policy.clone()));
    for plan in plans.iter_mut().filter(|plan| matches!(plan.step, Ok(Step::Already | Step::Write { .. }))) {
        let overlap = Files::default().read_by(places, plan.client, &names);
        if !overlap.names.is_empty() {
            plan.warnings.push(format!(
                "{} reads {} by itself and will be offered them twice; use one way only, see `rep doctor`",
                plan.client.title,
                overlap.in_words()
            ));
        }
    }
}
