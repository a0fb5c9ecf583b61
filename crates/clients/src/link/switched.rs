//! Links that are removed while a skill is disabled, and made again when it is enabled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, canonicalize};
use std::path::{Path, PathBuf};

use repertoire::change::{PathStep, can_write};
use repertoire_model::SkillName;

use super::record::{LinkRecord, RecordedLink};
use crate::Error;
use crate::paths;
use crate::{CANONICAL, Client, Owner, Places};

/// A recorded link to a skill.
pub(crate) struct LinkToSkill {
    /// The link as it is recorded.
    pub link: RecordedLink,
    /// Its place.
    pub path: PathBuf,
    /// The reason why it is left alone, if it is.
    pub obstacle: Option<&'static str>,
}

/// Returns the links of `owner` in `base` that lead to the skill `name` in the directory `real`, those of
/// `client` alone if one is given.
pub(crate) fn links_to_skill(
    places: &Places,
    owner: Owner,
    base: &Path,
    (name, real): (&SkillName, &Path),
    client: Option<&Client>,
) -> Result<Vec<LinkToSkill>, Error> {
    let record = LinkRecord::load(places, owner, base)?;
    let mut links = Vec::new();
    for link in record.0.entries {
        let Some(path) = link.place(places, owner, base) else { continue };
        // A copy, or what stands in the place of a link by now, is known by its name alone.
        let is_link = is_as_recorded(places, owner, &path, &link);
        let is_meant = if is_link {
            canonicalize(&path).ok().as_deref() == Some(real)
        } else {
            path.file_name().is_some_and(|found| found == name.as_str())
        };
        if !is_meant {
            continue;
        }
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        if client.is_some_and(|client| !places.skills(client, owner).contains(&folder)) {
            continue;
        }
        let is_for_others = client.is_some_and(|client| link.clients.iter().any(|id| id != client.id));
        let obstacle = if link.to.is_none() {
            Some("it is a copy, which `rep undo` removes")
        } else if !is_link {
            Some("it was changed since it was made")
        } else {
            is_for_others.then_some("other clients have it too")
        };
        links.push(LinkToSkill { link, path, obstacle });
    }
    // Links to other links go first.
    links.sort_by_key(|found| found.link.path.starts_with(CANONICAL));
    Ok(links)
}

/// The steps that change links.
#[derive(Debug, Default)]
pub(crate) struct SwitchedLinks {
    /// The steps that change and record them.
    pub steps: Vec<PathStep>,
    /// The paths of those whose directories cannot be written, as they are recorded.
    pub unwritable: BTreeSet<String>,
    /// The paths of the links that are never made again, as they are recorded, with the reasons.
    pub obsolete: BTreeMap<String, &'static str>,
}

/// Plans to remove `links`, and to take them out of the record.
pub(crate) fn remove_links(
    places: &Places,
    owner: Owner,
    base: &Path,
    links: &[&RecordedLink],
) -> Result<SwitchedLinks, Error> {
    let (mut record, mut removed) = (LinkRecord::load(places, owner, base)?, SwitchedLinks::default());
    for link in links {
        let path = link.place(places, owner, base);
        if let (Some(path), Some(to)) = (path, &link.to)
            && is_as_recorded(places, owner, &path, link)
        {
            if !path.parent().is_some_and(can_write) {
                removed.unwritable.insert(link.path.clone());
                continue;
            }
            removed.steps.push(PathStep::remove_link(path, to));
        }
        record.0.entries.retain(|made| made.path != link.path);
    }
    removed.steps.extend(record.steps()?);
    Ok(removed)
}

/// Plans to make `links` again, and to record them.
pub(crate) fn restore_links(
    places: &Places,
    owner: Owner,
    base: &Path,
    links: &[&RecordedLink],
) -> Result<SwitchedLinks, Error> {
    let mut record = LinkRecord::load(places, owner, base)?;
    let (mut restored, mut made) = (SwitchedLinks::default(), Vec::new());
    // The links that others lead to come first.
    let mut links = links.to_vec();
    links.sort_by_key(|link| !link.path.starts_with(CANONICAL));
    for link in links {
        let path = link.place(places, owner, base);
        match restore(places, owner, base, link, &made) {
            Ok(Some(_)) if !path.as_deref().and_then(Path::parent).is_some_and(can_write) => {
                restored.unwritable.insert(link.path.clone());
            }
            Ok(step) => {
                made.extend(path.map(|path| paths::resolved(&path)));
                restored.steps.extend(step);
                record.add(link.clone());
            }
            Err(reason) => {
                restored.obsolete.insert(link.path.clone(), reason);
            }
        }
    }
    restored.steps.extend(record.steps()?);
    Ok(restored)
}

/// Returns the step that makes `link` again, if it is not there, or the reason that it is not made. `made`
/// are those before it.
fn restore(
    places: &Places,
    owner: Owner,
    base: &Path,
    link: &RecordedLink,
    made: &[PathBuf],
) -> Result<Option<PathStep>, &'static str> {
    let (path, to) =
        link.place(places, owner, base).zip(link.to.as_ref()).ok_or("it is not where links are made")?;
    let parent = path.parent().filter(|parent| !paths::leads_out(places, owner, parent));
    let parent = parent.ok_or("it leads out of the project")?;
    if is_as_recorded(places, owner, &path, link) {
        return Ok(None);
    }
    if path.symlink_metadata().is_ok() {
        return Err("something else is there by now");
    }
    let end = end_of(parent, to);
    if matches!(end.try_exists(), Ok(false)) && !made.contains(&end) {
        return Err("its skill is gone");
    }
    Ok(Some(PathStep::make_link(path, to)))
}

/// Returns the path that `to` leads to from `parent`, which may not be there yet.
fn end_of(parent: &Path, to: &str) -> PathBuf {
    let mut path = paths::resolved(parent);
    for part in Path::new(to).components() {
        match part {
            std::path::Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

/// Returns `true` if the link at `path` is there as it was recorded.
fn is_as_recorded(places: &Places, owner: Owner, path: &Path, link: &RecordedLink) -> bool {
    let is_inside = path.parent().is_some_and(|parent| !paths::leads_out(places, owner, parent));
    let to = link.to.as_deref().map(Path::new);
    is_inside && to.is_some() && fs::read_link(path).ok().as_deref() == to
}
