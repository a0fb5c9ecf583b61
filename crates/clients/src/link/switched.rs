//! Links that are removed while a skill is disabled, and made again when it is enabled.

use std::fs::{self, canonicalize};
use std::path::{Path, PathBuf};

use repertoire_model::SkillName;

use super::record::{Record, RecordedLink};
use super::symlink::{make_link, remove_link};
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

/// Returns the links of `owner` in `base` that lead to the skill `name` in the directory `real`, those of `client` alone if one is
/// given.
pub(crate) fn links_to_skill(
    places: &Places,
    owner: Owner,
    base: &Path,
    (name, real): (&SkillName, &Path),
    client: Option<&Client>,
) -> Result<Vec<LinkToSkill>, Error> {
    let record = Record::load(places, owner, base)?;
    let mut links = Vec::new();
    for link in record.made {
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
            Some("it is a copy, which `rep link --undo` removes")
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

/// Removes `links`, and takes those that are gone out of the record, also if one of them cannot be removed.
pub(crate) fn remove_links(
    places: &Places,
    owner: Owner,
    base: &Path,
    links: &[RecordedLink],
) -> Result<(), Error> {
    if links.is_empty() {
        return Ok(());
    }
    let mut record = Record::load(places, owner, base)?;
    let mut failure = None;
    for link in links {
        let path = link.place(places, owner, base);
        if let Some(path) = path.filter(|path| is_as_recorded(places, owner, path, link))
            && let Err(error) = remove_link(&path)
        {
            failure = failure.or_else(|| Some(Error::io("remove", &path, error)));
            continue;
        }
        record.made.retain(|made| made.path != link.path);
    }
    record.save(base)?;
    failure.map_or(Ok(()), Err)
}

/// The outcome of making a link again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RestoredLink {
    /// It is there.
    Made,
    /// It is not made, and never will be, for this reason.
    Obsolete(String),
    /// It could not be made, for this reason.
    Failed(String),
}

/// Makes `links` again and records them. Returns the outcome for each.
pub(crate) fn restore_links(
    places: &Places,
    owner: Owner,
    base: &Path,
    links: &[RecordedLink],
) -> Result<Vec<RestoredLink>, Error> {
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let mut record = Record::load(places, owner, base)?;
    let mut outcomes = vec![RestoredLink::Made; links.len()];
    // Those that others lead to come first.
    let mut order: Vec<usize> = (0..links.len()).collect();
    order.sort_by_key(|at| !links[*at].path.starts_with(CANONICAL));
    for at in order {
        outcomes[at] = restore(places, owner, base, &links[at]);
        if outcomes[at] == RestoredLink::Made {
            record.add(links[at].clone());
        }
    }
    record.save(base)?;
    Ok(outcomes)
}

fn restore(places: &Places, owner: Owner, base: &Path, link: &RecordedLink) -> RestoredLink {
    let obsolete = |reason: &str| RestoredLink::Obsolete(reason.to_owned());
    let place = link.place(places, owner, base).zip(link.to.as_ref());
    let Some((path, to)) = place else { return obsolete("it is not where links are made") };
    let Some(parent) = path.parent().filter(|parent| !paths::leads_out(places, owner, parent)) else {
        return obsolete("it leads out of the project");
    };
    if is_as_recorded(places, owner, &path, link) {
        return RestoredLink::Made;
    }
    if path.symlink_metadata().is_ok() {
        return obsolete("something else is there by now");
    }
    if !resolves(parent, to) {
        return obsolete("its skill is gone");
    }
    match fs::create_dir_all(parent).and_then(|()| make_link(Path::new(to), &path)) {
        Ok(()) => RestoredLink::Made,
        Err(error) => RestoredLink::Failed(format!("it cannot be made: {error}")),
    }
}

/// Returns `true` if `to` leads somewhere from `parent`, which may not be there yet.
fn resolves(parent: &Path, to: &str) -> bool {
    let mut path = paths::resolved(parent);
    for part in Path::new(to).components() {
        match part {
            std::path::Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    !matches!(path.try_exists(), Ok(false))
}

/// Returns `true` if the link at `path` is there as it was recorded.
fn is_as_recorded(places: &Places, owner: Owner, path: &Path, link: &RecordedLink) -> bool {
    let is_inside = path.parent().is_some_and(|parent| !paths::leads_out(places, owner, parent));
    let to = link.to.as_deref().map(Path::new);
    is_inside && to.is_some() && fs::read_link(path).ok().as_deref() == to
}
