//! The change that puts gathered copies back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use repertoire::change::PathStep;

use super::plan::AdoptOptions;
use super::record::{self, AdoptedCopy, AdoptedRecord, ORIGINALS};
use crate::link::LinkRecord;
use crate::{CANONICAL, Error, Owner, Places};

/// The copies to put back.
#[derive(Debug)]
pub struct AdoptUndo {
    /// The copies that are not where they were.
    pub copies: Vec<RestoredCopy>,
    steps: Vec<PathStep>,
    /// The record without the copies that are put back.
    record: AdoptedRecord,
    links: LinkRecord,
}

/// A copy that is to be put back.
#[derive(Debug)]
pub struct RestoredCopy {
    /// The name of the skill.
    pub name: String,
    /// The path that it had, as it is shown.
    pub path: String,
    /// Its state.
    pub state: CopyState,
}

/// The state of a copy that is to be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyState {
    /// It would be put back.
    Planned,
    /// It is where it was.
    Restored,
    /// It is left alone, for this reason.
    Changed(&'static str),
}

/// The readiness of a recorded copy to be put back.
enum Readiness {
    /// It can be put back: a link of ours or nothing stands in its place.
    Ready(PathBuf),
    /// It is where it was.
    Back,
    /// It is left alone, for this reason.
    Changed(&'static str),
}

impl AdoptUndo {
    /// Plans to put back the copies of the skills that are meant.
    pub fn plan(places: &Places, options: &AdoptOptions, base: &Path) -> Result<Self, Error> {
        let owner = options.owner;
        let (mut record, mut links) =
            (record::load(places, owner, base)?, LinkRecord::load(places, owner, base)?);
        let (mut meant, mut left): (Vec<AdoptedCopy>, Vec<AdoptedCopy>) =
            std::mem::take(&mut record.entries).into_iter().partition(|copy| options.is_meant(&copy.name));
        // The one place is given up last, because links lead to it, and taken again after that.
        meant.sort_by_key(|copy| (copy.moved || copy.to.is_none(), copy.to.is_none()));
        let (mut copies, mut steps, mut given_up) = (Vec::new(), Vec::new(), BTreeSet::new());
        for copy in meant {
            let is_given_up = copy.to.is_none() && given_up.contains(&copy.name);
            let state = match copy_state(places, owner, base, &copy, is_given_up) {
                Readiness::Back => None,
                Readiness::Ready(path) => {
                    let from = copy.kept(base, &path);
                    if let (Ok(to), false) = (fs::read_link(&path), is_given_up) {
                        steps.push(PathStep::remove_link(&path, to));
                    }
                    steps.push(PathStep::Move { from, to: path });
                    if copy.moved {
                        given_up.insert(copy.name.clone());
                    }
                    Some(CopyState::Planned)
                }
                Readiness::Changed(reason) => Some(CopyState::Changed(reason)),
            };
            match state {
                Some(CopyState::Changed(_)) => left.push(copy.clone()),
                _ => links.forget(base, &base.join(&copy.path)),
            }
            copies.extend(state.map(|state| RestoredCopy { name: copy.name, path: copy.path, state }));
        }
        left.sort_by(|a, b| a.path.cmp(&b.path));
        record.entries = left;
        Ok(Self { copies, steps, record, links })
    }

    /// Returns the number of copies that would be put back.
    pub fn planned(&self) -> usize {
        self.copies.iter().filter(|copy| copy.state == CopyState::Planned).count()
    }

    /// Returns the steps that put the copies back.
    pub fn steps(&self) -> Result<Vec<PathStep>, Error> {
        let mut steps = self.steps.clone();
        steps.extend(self.links.steps()?);
        steps.extend(self.record.steps()?);
        Ok(steps)
    }

    /// Notes that the copies were put back, and removes the directories that are empty now.
    pub fn finish(&mut self, base: &Path) {
        remove_empty(&base.join(ORIGINALS));
        // The one place, if nothing else is there.
        if self.planned() > 0 {
            for directory in [base.join(CANONICAL), base.join(".agents")] {
                let _ = fs::remove_dir(directory);
            }
        }
        for copy in self.copies.iter_mut().filter(|copy| copy.state == CopyState::Planned) {
            copy.state = CopyState::Restored;
        }
    }
}

/// Returns the readiness of `copy`. Nothing stands in its place any more if that `is_given_up` by then.
fn copy_state(
    places: &Places,
    owner: Owner,
    base: &Path,
    copy: &AdoptedCopy,
    is_given_up: bool,
) -> Readiness {
    let Some(path) = copy.place(places, owner, base) else {
        return Readiness::Changed("is not a directory that clients read skills from");
    };
    let kept = copy.kept(base, &path);
    let is_kept = kept.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    match path.symlink_metadata() {
        _ if is_given_up && is_kept => Readiness::Ready(path),
        Ok(metadata) if metadata.is_dir() && !is_kept => Readiness::Back,
        _ if !is_kept => Readiness::Changed("has no original any more"),
        Err(_) => Readiness::Ready(path),
        Ok(metadata) if metadata.is_symlink() => {
            let is_ours = fs::read_link(&path).is_ok_and(|to| copy.to.as_deref().map(Path::new) == Some(&to));
            if is_ours { Readiness::Ready(path) } else { Readiness::Changed("is another link by now") }
        }
        Ok(_) => Readiness::Changed("was replaced since"),
    }
}

/// Removes the empty directories below `directory`, and itself.
fn remove_empty(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // A directory of a skill is not empty, and so stays.
            remove_empty(&entry.path());
        }
    }
    let _ = fs::remove_dir(directory);
}
