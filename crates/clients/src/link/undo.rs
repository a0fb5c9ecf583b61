//! Removes the recorded links and unchanged copies.

use std::fs;
use std::path::Path;

use super::copy::{self, DirectoryReader};
use super::record::{Record, RecordedLink};
use super::symlink::remove_link;
use crate::{CANONICAL, Client, Error, Owner, Places, paths};

/// The links and copies to remove.
#[derive(Debug)]
pub struct LinkRemoval {
    /// Those that were made for the clients that are meant, in the order in which they are removed.
    pub links: Vec<RemovedLink>,
    kept: Vec<RecordedLink>,
    record: Record,
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
    Changed(String),
}

impl LinkRemoval {
    /// Plans to remove what was made for the clients in `named`, or for all clients if it is empty.
    pub fn plan(
        places: &Places,
        owner: Owner,
        base: &Path,
        named: &[&'static Client],
        read: DirectoryReader<'_>,
    ) -> Result<Self, Error> {
        let mut record = Record::load(places, owner, base)?;
        let is_named = |client: &String| named.is_empty() || named.iter().any(|named| named.id == *client);
        let (mut kept, mut links) = (Vec::new(), Vec::new());
        for made in std::mem::take(&mut record.made) {
            let (leaving, staying): (Vec<String>, Vec<String>) =
                made.clients.iter().cloned().partition(&is_named);
            if leaving.is_empty() || !staying.is_empty() {
                kept.push(RecordedLink { clients: staying, ..made });
                continue;
            }
            let state = match survival(read, places, owner, base, &made) {
                Survival::Gone => continue,
                Survival::OwnEntries => RemovalState::Planned,
                Survival::Changed(reason) => RemovalState::Changed(reason),
            };
            links.push(RemovedLink { link: made, state });
        }
        // Links to other links go first.
        links.sort_by_key(|removed| removed.link.path.starts_with(CANONICAL));
        Ok(Self { links, kept, record })
    }

    /// Removes what is planned. Returns the last error of those that could not be removed.
    pub fn carry_out(
        &mut self,
        places: &Places,
        owner: Owner,
        base: &Path,
        read: DirectoryReader<'_>,
    ) -> Result<Option<Error>, Error> {
        let mut failure = None;
        // A changed link is the user's from now on.
        for removed in self.links.iter_mut().filter(|removed| removed.state == RemovalState::Planned) {
            let link = &removed.link;
            // It may have changed while the user was asked.
            match survival(read, places, owner, base, link) {
                Survival::OwnEntries => match remove(read, &base.join(&link.path), link) {
                    Ok(()) => removed.state = RemovalState::Removed,
                    Err(error) => {
                        self.kept.push(link.clone());
                        failure = Some(error);
                    }
                },
                // It was removed in the meantime.
                Survival::Gone => removed.state = RemovalState::Removed,
                Survival::Changed(reason) => removed.state = RemovalState::Changed(reason),
            }
        }
        self.record.made = std::mem::take(&mut self.kept);
        self.record.made.sort_by(|a, b| a.path.cmp(&b.path));
        self.record.save(base)?;
        let removed = self.links.iter().filter(|removed| removed.state == RemovalState::Removed);
        removed.for_each(|removed| remove_empty_directories(base, &base.join(&removed.link.path)));
        Ok(failure)
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
    Changed(String),
}

fn survival(
    read: DirectoryReader<'_>,
    places: &Places,
    owner: Owner,
    base: &Path,
    made: &RecordedLink,
) -> Survival {
    let Some(path) = made.place(places, owner, base) else {
        return Survival::Changed("is not a directory that links are made in".to_owned());
    };
    // A project's record may only name paths in the project.
    if path.parent().is_none_or(|parent| paths::leads_out(places, owner, parent)) {
        return Survival::Changed("leads out of the project".to_owned());
    }
    let Ok(metadata) = fs::symlink_metadata(&path) else { return Survival::Gone };
    let is_ours = match (&made.to, &made.digest) {
        (Some(to), _) => fs::read_link(&path).is_ok_and(|found| found == Path::new(to)),
        (None, Some(digest)) => metadata.is_dir() && copy::is_unchanged(read, &path, digest),
        (None, None) => false,
    };
    if is_ours { Survival::OwnEntries } else { Survival::Changed("was changed since it was made".to_owned()) }
}

fn remove(read: DirectoryReader<'_>, path: &Path, made: &RecordedLink) -> Result<(), Error> {
    match made.to {
        Some(_) => remove_link(path).map_err(|error| Error::io("remove", path, error)),
        None => copy::remove(read, path),
    }
}
