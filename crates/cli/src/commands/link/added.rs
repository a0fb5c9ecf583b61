//! Links to skills that were added or removed by other commands.

use std::fs::canonicalize;
use std::path::{Path, PathBuf};

use repertoire::Entry;
use repertoire_model::SkillName;

use super::args::LinkArgs;
use super::plan::{Occupancy, plan};
use super::record::Record;
use super::{apply, chosen, paths};
use crate::clients::{CLIENTS, Owner, Places};
use crate::commands::connect::{OwnEntries, connections};
use crate::error::CliError;
use crate::wire::Context;

/// Makes the links that the clients which are found need to read the skills in `directories`. Returns them as they are shown.
pub(crate) fn link_added(
    context: &Context,
    owner: Owner,
    directories: &[PathBuf],
) -> Result<Vec<String>, CliError> {
    let places = Places::new(&context.env);
    let Some(base) = places.base(owner) else { return Ok(Vec::new()) };
    let args = LinkArgs::of(owner);
    let connections = connections(&OwnEntries::new(&context.env), &places);
    // Without clients there is nothing to link.
    let Ok((clients, _)) = chosen(&connections, &places, &args, Vec::new()) else { return Ok(Vec::new()) };
    let library = context.open()?;
    let real: Vec<PathBuf> =
        directories.iter().filter_map(|directory| canonicalize(directory).ok()).collect();
    let is_added = |entry: &&Entry| real.contains(&paths::of(entry));
    let skills: Vec<&Entry> = library.snapshot.entries().iter().filter(is_added).collect();
    let mut plan = plan(&library, &places, &args, &base, &clients, &skills)?;
    let mut made = Vec::new();
    for step in plan.steps.iter().filter(|step| matches!(step.occupancy, Occupancy::Free)) {
        let link = apply::make(&library, &args, &base, step)?;
        made.push(link.path.clone());
        plan.record.add(link);
    }
    plan.record.save(&base)?;
    Ok(made)
}

/// Returns the links in directories of clients that lead to the skill `name` in `directory`.
pub(crate) fn links_to(places: &Places, owner: Owner, name: &SkillName, directory: &Path) -> Vec<PathBuf> {
    let Ok(real) = canonicalize(directory) else { return Vec::new() };
    let folders = CLIENTS.iter().flat_map(|client| places.skills(client, owner));
    let leads = |path: &PathBuf| {
        path.is_symlink() && path != directory && canonicalize(path).is_ok_and(|found| found == real)
    };
    let is_inside = |path: &PathBuf| path.parent().is_some_and(|it| !paths::leads_out(places, owner, it));
    let mut links: Vec<PathBuf> =
        folders.map(|folder| folder.join(name.as_str())).filter(leads).filter(is_inside).collect();
    links.sort();
    links.dedup();
    links
}

/// Removes `links` from the record of links.
pub(crate) fn forget_links(places: &Places, owner: Owner, links: &[PathBuf]) -> Result<(), CliError> {
    let Some(base) = places.base(owner).filter(|_| !links.is_empty()) else { return Ok(()) };
    let mut record = Record::load(places, owner, &base)?;
    let shown: Vec<String> = links.iter().map(|link| paths::shown(&base, link)).collect();
    record.made.retain(|made| !shown.contains(&made.path));
    record.save(&base)
}
