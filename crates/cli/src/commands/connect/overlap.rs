//! Whether a client reads from files what the server offers it too. A skill that is offered twice costs its catalog
//! entry twice, and a model that sees two takes either.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

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
    /// Tells how many there are and where, in words.
    pub(crate) fn told(&self) -> String {
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

/// Returns which of `names` the `client` reads from files, in the project and of the user. A directory is taken for the skill
/// that it is called after, whatever its `SKILL.md` says.
pub(crate) fn overlap(places: &Places, client: &Client, names: &BTreeSet<String>) -> Overlap {
    let mut overlap = Overlap::default();
    for owner in [Owner::Project, Owner::User] {
        for directory in places.skills(client, owner) {
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            let found = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let found: Vec<String> = found
                .filter(|name| names.contains(name) && directory.join(name).join("SKILL.md").is_file())
                .collect();
            if !found.is_empty() && !overlap.directories.contains(&directory) {
                overlap.directories.push(directory);
                overlap.names.extend(found);
            }
        }
    }
    overlap
}

/// Returns which of `names` the `client` reads from more than one directory.
pub(crate) fn read_twice(places: &Places, client: &Client, names: &BTreeSet<String>) -> Overlap {
    let directories = [Owner::Project, Owner::User].map(|owner| places.skills(client, owner)).concat();
    let has = |directory: &PathBuf, name: &String| directory.join(name).join("SKILL.md").is_file();
    let is_twice =
        |name: &&String| directories.iter().filter(|directory| has(directory, name)).nth(1).is_some();
    let names: BTreeSet<String> = names.iter().filter(is_twice).cloned().collect();
    let holds_one = |directory: &PathBuf| names.iter().any(|name| has(directory, name));
    Overlap { directories: directories.iter().filter(|own| holds_one(own)).cloned().collect(), names }
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
        let overlap = overlap(places, plan.client, &names);
        if !overlap.names.is_empty() {
            plan.warnings.push(format!(
                "{} reads {} by itself and will be offered them twice; use one way only, see `rep doctor`",
                plan.client.title,
                overlap.told()
            ));
        }
    }
}
