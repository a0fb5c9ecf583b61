//! Links to skills that were added or removed.

use std::collections::BTreeMap;
use std::fs::{self, canonicalize};
use std::path::{Component, Path, PathBuf};

use repertoire::{Entry, State};

use super::apply::{LinkKind, make_recorded};
use super::plan::{LinkPlan, LinkStep, plan};
use super::receivers::{ConnectedClients, chosen};
use super::record::Record;
use super::warnings::{Warning, warnings_after};
use crate::connect::{Connection, OwnEntries, connections};
use crate::library::OpenLibrary;
use crate::{CLIENTS, Client, Error, Owner, Places, paths};

/// The links that were made to skills.
#[derive(Debug, Default)]
pub struct AddedLinks {
    /// Their paths, as they are shown.
    pub paths: Vec<String>,
    /// The warnings about clients that read skills twice because of them.
    pub warnings: Vec<Warning>,
}

/// The clients that were found and need links to skills that are added.
#[derive(Debug)]
pub struct LinkReceivers<'p> {
    places: &'p Places,
    owner: Owner,
    base: PathBuf,
    directories: &'p [PathBuf],
    connections: Vec<Connection>,
    clients: Vec<&'static Client>,
}

impl<'p> LinkReceivers<'p> {
    /// Returns the clients that need links of `owner` to the skills in `directories`; `None` if there are none.
    pub fn found(places: &'p Places, owner: Owner, directories: &'p [PathBuf]) -> Option<Self> {
        let base = places.base(owner).filter(|_| !directories.is_empty())?;
        let connections = connections(&OwnEntries::new(places), places);
        let (clients, _) = chosen(&connections, places, owner, ConnectedClients::LeftOut, Vec::new()).ok()?;
        Some(Self { places, owner, base, directories, connections, clients })
    }

    /// Returns the links, as they are shown, that the clients need to read the skills and that are not there.
    pub fn missing(&self, library: OpenLibrary<'_>) -> Result<Vec<String>, Error> {
        let plan = self.plan(library)?;
        let missing = plan.steps.iter().filter(|step| step.is_free());
        Ok(missing.map(|step| paths::shown(&self.base, &step.path)).collect())
    }

    /// Makes the links that the clients need to read the skills.
    pub fn link(&self, library: OpenLibrary<'_>) -> Result<AddedLinks, Error> {
        let mut plan = self.plan(library)?;
        let missing: Vec<&LinkStep<'_>> = plan.steps.iter().filter(|step| step.is_free()).collect();
        let names = missing.iter().map(|step| step.entry.name().to_string()).collect();
        let links = make_recorded(library.registry, LinkKind::Link, &self.base, &mut plan.record, &missing)?;
        if let Some(error) = links.failure {
            return Err(error.hint("the skills are in place; `rep link` links them once that can be written"));
        }
        let warnings = warnings_after(library, self.places, &self.connections, &names);
        Ok(AddedLinks { paths: links.made.into_iter().map(|link| link.path).collect(), warnings })
    }

    fn plan<'l>(&self, library: OpenLibrary<'l>) -> Result<LinkPlan<'l>, Error> {
        let real: Vec<PathBuf> =
            self.directories.iter().filter_map(|directory| canonicalize(directory).ok()).collect();
        // Links of a disabled skill were taken away on purpose.
        let is_added = |entry: &&Entry| entry.state != State::Disabled && real.contains(&paths::of(entry));
        let skills: Vec<&Entry> = library.snapshot.entries().iter().filter(is_added).collect();
        plan(library, self.places, self.owner, &self.base, &self.clients, &skills)
    }
}

/// Returns the links in directories of clients that lead to the skill in `directory`, also if that was deleted.
pub fn links_to(places: &Places, owner: Owner, directory: &Path) -> Vec<PathBuf> {
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
pub fn forget_links(places: &Places, owner: Owner, links: &[PathBuf]) -> Result<(), Error> {
    let Some(base) = places.base(owner).filter(|_| !links.is_empty()) else { return Ok(()) };
    let mut record = Record::load(places, owner, &base)?;
    let shown: Vec<String> = links.iter().map(|link| paths::shown(&base, link)).collect();
    record.made.retain(|made| !shown.contains(&made.path));
    record.save(&base)
}
