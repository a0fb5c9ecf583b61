//! Links to skills that were added or removed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use repertoire::change::{PathStep, can_write};

use super::apply::{LinkKind, NewLinks};
use super::plan::{LinkedSkill, plan_from};
use super::receivers::{ConnectedClients, chosen};
use super::record::LinkRecord;
use crate::connect::{OwnEntries, connections};
use crate::{CLIENTS, Error, Owner, Places, paths};

/// Returns the links that the clients found need to read `skills`, with the change that makes them, and
/// removes the links `obsolete`. Links in directories that cannot be written are left alone, with notes.
pub fn added_links(
    places: &Places,
    owner: Owner,
    kind: LinkKind,
    skills: &[LinkedSkill<'_>],
    obsolete: &[PathBuf],
) -> Result<NewLinks, Error> {
    let Some(base) = places.base(owner) else { return Ok(NewLinks::default()) };
    let mut record = LinkRecord::load(places, owner, &base)?;
    let (mut removals, mut notes) = (Vec::new(), Vec::new());
    let mut is_writable = |path: &Path| {
        let is_writable = kind == LinkKind::Planned || path.parent().is_some_and(can_write);
        if !is_writable {
            notes.push(format!(
                "the link {} is left alone, because its directory cannot be written; the skills are in place, and `rep link` \
                 links them once that can be written",
                paths::shown(&base, path)
            ));
        }
        is_writable
    };
    for path in obsolete.iter().filter(|path| is_writable(path)) {
        if let Ok(to) = fs::read_link(path) {
            removals.push(PathStep::remove_link(path, to));
        }
        record.forget(&base, path);
    }
    let connections = connections(&OwnEntries::new(places), places);
    let chosen = chosen(&connections, places, owner, ConnectedClients::LeftOut, Vec::new());
    let clients = chosen.map(|(clients, _)| clients).unwrap_or_default();
    let skills = if clients.is_empty() { &[] } else { skills };
    let mut plan = plan_from(places, owner, &base, &clients, skills, record)?;
    plan.steps.retain(|step| !step.is_free() || is_writable(&step.path));
    let mut links = plan.new_links(kind, &base)?;
    links.change.steps.splice(0..0, removals);
    Ok(NewLinks { notes, ..links })
}

/// Returns the links in client directories that lead to the skill in `directory`, also if that was deleted.
pub fn links_to(places: &Places, owner: Owner, directory: &Path) -> Vec<PathBuf> {
    let real = paths::resolved(directory);
    let folders = CLIENTS.iter().flat_map(|client| places.skills(client, owner));
    // One folder under two names is looked at once.
    let folders: BTreeMap<PathBuf, PathBuf> =
        folders.map(|folder| (paths::resolved(&folder), folder)).collect();
    let entries = folders.values().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let leads = |path: &PathBuf| {
        path.is_symlink() && path != directory && paths::end_of_link(path).is_some_and(|end| end == real)
    };
    let is_inside = |path: &PathBuf| path.parent().is_some_and(|it| !paths::leads_out(places, owner, it));
    let mut links: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(leads).filter(is_inside).collect();
    links.sort();
    links
}
