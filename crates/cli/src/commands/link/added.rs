//! Links to skills that were added or removed by other commands.

use std::collections::BTreeMap;
use std::fs::{self, canonicalize};
use std::path::{Component, Path, PathBuf};

use repertoire::{Entry, State};

use super::args::LinkArgs;
use super::plan::{LinkStep, Occupancy, plan};
use super::record::Record;
use super::{Warning, apply, chosen, paths, warnings_after};
use crate::commands::connect::{OwnEntries, connections};
use crate::env::Env;
use crate::error::CliError;
use crate::globals::Globals;
use crate::ui::Ui;
use crate::wire::Context;
use repertoire_clients::{CLIENTS, Owner, Places};

/// The links that were made to skills.
#[derive(Default)]
pub(crate) struct AddedLinks {
    /// Their paths, as they are shown.
    pub(crate) paths: Vec<String>,
    /// The warnings about clients that read skills twice because of them.
    pub(crate) warnings: Vec<Warning>,
}

/// Makes the links that the clients which are found need to read the skills in `directories`.
pub(crate) fn link_added(
    context: &Context,
    owner: Owner,
    directories: &[PathBuf],
) -> Result<AddedLinks, CliError> {
    links(context, owner, directories, Action::Make)
}

/// Returns the links, as they are shown, that the clients which are found need to read the skills in `directories` and that are not there.
pub(crate) fn missing_links(
    context: &Context,
    owner: Owner,
    directories: &[PathBuf],
) -> Result<Vec<String>, CliError> {
    links(context, owner, directories, Action::List).map(|links| links.paths)
}

/// The use that is made of links that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Make,
    List,
}

fn links(
    context: &Context,
    owner: Owner,
    directories: &[PathBuf],
    action: Action,
) -> Result<AddedLinks, CliError> {
    if directories.is_empty() {
        return Ok(AddedLinks::default());
    }
    let places = context.env.places();
    let Some(base) = places.base(owner) else { return Ok(AddedLinks::default()) };
    let args = LinkArgs::of(owner);
    let connections = connections(&OwnEntries::new(&context.env), &places);
    // Without clients there is nothing to link.
    let Ok((clients, _)) = chosen(&connections, &places, &args, Vec::new()) else {
        return Ok(AddedLinks::default());
    };
    let library = context.open()?;
    let real: Vec<PathBuf> =
        directories.iter().filter_map(|directory| canonicalize(directory).ok()).collect();
    // Links of a disabled skill were taken away on purpose.
    let is_added = |entry: &&Entry| entry.state != State::Disabled && real.contains(&paths::of(entry));
    let skills: Vec<&Entry> = library.snapshot.entries().iter().filter(is_added).collect();
    let mut plan = plan(&library, &places, &args, &base, &clients, &skills)?;
    let missing = plan.steps.iter().filter(|step| matches!(step.occupancy, Occupancy::Free));
    if action == Action::List {
        let paths = missing.map(|step| paths::shown(&base, &step.path)).collect();
        return Ok(AddedLinks { paths, warnings: Vec::new() });
    }
    let missing: Vec<&LinkStep<'_>> = missing.collect();
    let (made, failure) = apply::make_recorded(&library, &args, &base, &mut plan.record, &missing)?;
    match failure {
        Some(error) => {
            Err(error.hint("the skills are in place; `rep link` links them once that can be written"))
        }
        None => {
            let names = missing.iter().map(|step| step.entry.name().to_string()).collect();
            let warnings = warnings_after(&library, &places, &connections, &names);
            Ok(AddedLinks { paths: made.into_iter().map(|link| link.path).collect(), warnings })
        }
    }
}

/// Makes the links to the skills in `directories`, whose change was interrupted and is completed, and says so.
pub(crate) fn link_completed(
    ui: &mut Ui,
    env: &Env,
    globals: &Globals,
    owner: Owner,
    directories: &[PathBuf],
) {
    let linked = Context::load(ui, env.clone(), globals.clone())
        .and_then(|context| link_added(&context, owner, directories));
    let _ = match linked {
        Ok(links) if links.paths.is_empty() => Ok(()),
        Ok(links) => ui.hint(&format!("linked for other clients: {}", links.paths.join(", "))),
        Err(error) => ui.warn(&format!("links to the skills could not be made: {}", error.message())),
    };
}

/// Returns the links in directories of clients that lead to the skill in `directory`, also if that was deleted.
pub(crate) fn links_to(places: &Places, owner: Owner, directory: &Path) -> Vec<PathBuf> {
    let real = paths::resolved(directory);
    let folders = CLIENTS.iter().flat_map(|client| places.skills(client, owner));
    // One folder under two names is looked at once.
    let folders: BTreeMap<PathBuf, PathBuf> =
        folders.map(|folder| (paths::resolved(&folder), folder)).collect();
    let entries = folders.values().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let leads = |path: &PathBuf| {
        path.is_symlink() && path != directory && end_of_link(path).is_some_and(|end| end == real)
    };
    let is_inside = |path: &PathBuf| path.parent().is_some_and(|it| !paths::leads_out(places, owner, it));
    let mut links: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(leads).filter(is_inside).collect();
    links.sort();
    links
}

/// Returns the path that the link at `path` leads to, without links; it need not exist.
fn end_of_link(path: &Path) -> Option<PathBuf> {
    if let Ok(end) = canonicalize(path) {
        return Some(end);
    }
    let mut end = canonicalize(path.parent()?).ok()?;
    for part in fs::read_link(path).ok()?.components() {
        match part {
            Component::ParentDir => {
                end.pop();
            }
            // An absolute path replaces what is before it.
            part => end.push(part),
        }
    }
    Some(paths::resolved(&end))
}

/// Removes `links` from the record of links.
pub(crate) fn forget_links(places: &Places, owner: Owner, links: &[PathBuf]) -> Result<(), CliError> {
    let Some(base) = places.base(owner).filter(|_| !links.is_empty()) else { return Ok(()) };
    let mut record = Record::load(places, owner, &base)?;
    let shown: Vec<String> = links.iter().map(|link| paths::shown(&base, link)).collect();
    record.made.retain(|made| !shown.contains(&made.path));
    record.save(&base)
}
