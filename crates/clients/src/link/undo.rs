//! The removal of the recorded links and unchanged copies.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use repertoire::change::{ChangeSteps, InstalledSkill, PathStep, SkillStep, read_installed};
use repertoire_model::patch::{SkillFiles, bundle};

use super::record::{LinkRecord, RecordedLink};
use crate::{CANONICAL, Client, Error, Owner, Places, paths};

/// The links and copies to remove.
#[derive(Debug)]
pub struct LinkRemoval {
    /// The links that were made for the clients that are meant, in the order in which they are removed.
    pub links: Vec<RemovedLink>,
    /// The record without them.
    record: LinkRecord,
}

/// A recorded link or copy that is to be removed.
#[derive(Debug)]
pub struct RemovedLink {
    /// The link or the copy.
    pub link: RecordedLink,
    /// Its state.
    pub state: RemovalState,
}

/// The state of a link or a copy that is to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemovalState {
    /// It is as it was made.
    Planned,
    /// It was removed.
    Removed,
    /// It is left alone, for this reason.
    Changed(&'static str),
}

impl LinkRemoval {
    /// Plans to remove what was made for the clients in `named`, or for all clients if it is empty.
    pub fn plan(
        places: &Places,
        owner: Owner,
        base: &Path,
        named: &[&'static Client],
    ) -> Result<Self, Error> {
        let mut record = LinkRecord::load(places, owner, base)?;
        let is_named = |client: &String| named.is_empty() || named.iter().any(|named| named.id == *client);
        let (mut kept, mut links) = (Vec::new(), Vec::new());
        for made in std::mem::take(&mut record.0.entries) {
            let (leaving, staying): (Vec<String>, Vec<String>) =
                made.clients.iter().cloned().partition(&is_named);
            if leaving.is_empty() || !staying.is_empty() {
                kept.push(RecordedLink { clients: staying, ..made });
                continue;
            }
            let state = match survival(places, owner, base, &made) {
                Survival::Gone => continue,
                Survival::OwnEntries => RemovalState::Planned,
                Survival::Changed(reason) => RemovalState::Changed(reason),
            };
            links.push(RemovedLink { link: made, state });
        }
        // Links to other links go first.
        links.sort_by_key(|removed| removed.link.path.starts_with(CANONICAL));
        // A changed link is the user's from now on.
        record.0.entries = kept;
        Ok(Self { links, record })
    }

    /// Returns the change that removes what is planned.
    pub fn change(&self, base: &Path) -> Result<ChangeSteps<'static>, Error> {
        let mut change = ChangeSteps::default();
        for removed in self.links.iter().filter(|removed| removed.state == RemovalState::Planned) {
            let path = base.join(&removed.link.path);
            if let Some(to) = &removed.link.to {
                change.steps.push(PathStep::remove_link(path, to));
                continue;
            }
            let InstalledSkill { files, others, .. } = read_installed(&path)?.unwrap_or_default();
            // Other files beside them stay.
            let after = (!others.is_empty()).then(|| Cow::Owned(SkillFiles::new()));
            let (before, others) = (Some(Cow::Owned(files)), Cow::Owned(others));
            change.skills.push(SkillStep { directory: path, before, after, others });
        }
        change.steps.extend(self.record.steps()?);
        Ok(change)
    }

    /// Notes that the planned links and copies were removed, and removes the directories that are empty now.
    pub fn finish(&mut self, base: &Path) {
        for removed in self.links.iter_mut().filter(|removed| removed.state == RemovalState::Planned) {
            removed.state = RemovalState::Removed;
            remove_empty_directories(base, &base.join(&removed.link.path));
        }
    }
}

/// Removes the parent directories of `path` that are empty now, up to `base`.
fn remove_empty_directories(base: &Path, path: &Path) {
    let above = path.ancestors().skip(1).take_while(|above| *above != base && above.starts_with(base));
    for directory in above {
        if fs::remove_dir(directory).is_err() {
            break;
        }
    }
}

/// The state of a recorded link.
enum Survival {
    OwnEntries,
    Gone,
    Changed(&'static str),
}

fn survival(places: &Places, owner: Owner, base: &Path, made: &RecordedLink) -> Survival {
    let Some(path) = made.place(places, owner, base) else {
        return Survival::Changed("is not a directory that links are made in");
    };
    // A project's record may only name paths in the project.
    if path.parent().is_none_or(|parent| paths::leads_out(places, owner, parent)) {
        return Survival::Changed("leads out of the project");
    }
    let Ok(metadata) = fs::symlink_metadata(&path) else { return Survival::Gone };
    let is_ours = match (&made.to, &made.digest) {
        (Some(to), _) => fs::read_link(&path).is_ok_and(|found| found == Path::new(to)),
        (None, Some(digest)) if metadata.is_dir() => {
            let copy = read_installed(&path).ok().flatten();
            copy.is_some_and(|copy| bundle(&copy.files).digest().to_string() == *digest)
        }
        _ => false,
    };
    if is_ours { Survival::OwnEntries } else { Survival::Changed("was changed since it was made") }
}
