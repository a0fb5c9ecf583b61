//! Puts gathered copies back.

use std::fs;
use std::path::{Path, PathBuf};

use super::gather::rename;
use super::plan::AdoptOptions;
use super::record::{AdoptedCopy, Record};
use crate::{CANONICAL, Error, Owner, Places, link, lock};

/// The copies to put back.
#[derive(Debug)]
pub struct AdoptUndo {
    /// The copies that are not where they were.
    pub copies: Vec<RestoredCopy>,
    options: AdoptOptions,
    meant: Vec<AdoptedCopy>,
    kept: Vec<AdoptedCopy>,
    record: Record,
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
    pub fn plan(places: &Places, options: AdoptOptions, base: &Path) -> Result<Self, Error> {
        let record = Record::load(places, options.owner, base)?;
        let (mut meant, kept): (Vec<AdoptedCopy>, Vec<AdoptedCopy>) =
            record.adopted.iter().cloned().partition(|copy| options.is_meant(&copy.name));
        // The one place is given up last, because links lead to it, and taken again after that.
        meant.sort_by_key(|copy| (copy.moved || copy.to.is_none(), copy.to.is_none()));
        let mut copies = Vec::new();
        for copy in &meant {
            let state = match copy_state(places, options.owner, base, copy) {
                Readiness::Back => continue,
                Readiness::Ready(_) => CopyState::Planned,
                // What stands in the one place is moved away first.
                Readiness::Changed(_) if copy.to.is_none() => CopyState::Planned,
                Readiness::Changed(reason) => CopyState::Changed(reason),
            };
            copies.push(RestoredCopy { name: copy.name.clone(), path: copy.path.clone(), state });
        }
        Ok(Self { copies, options, meant, kept, record })
    }

    /// Returns the number of copies that would be put back.
    pub fn planned(&self) -> usize {
        self.copies.iter().filter(|copy| copy.state == CopyState::Planned).count()
    }

    /// Puts the copies back. Returns the last error of those that could not be.
    pub fn carry_out(&mut self, places: &Places, base: &Path) -> Result<Option<Error>, Error> {
        let owner = self.options.owner;
        let _lock = lock(base);
        if self.planned() > 0 {
            // A link that is removed when this is interrupted is made again.
            let is_meant = |copy: &&mut AdoptedCopy| self.options.is_meant(&copy.name);
            self.record.adopted.iter_mut().filter(is_meant).for_each(|copy| copy.is_unfinished = true);
            self.record.save(base)?;
        }
        let (mut left, mut is_any_back, mut failure) = (std::mem::take(&mut self.kept), false, None);
        for copy in std::mem::take(&mut self.meant) {
            let shown = self.copies.iter_mut().find(|shown| shown.path == copy.path);
            // It may have changed while the user was asked.
            let outcome = match copy_state(places, owner, base, &copy) {
                Readiness::Back => Ok(()),
                Readiness::Ready(path) => restore(base, &copy, &path),
                Readiness::Changed(reason) => {
                    if let Some(shown) = shown {
                        shown.state = CopyState::Changed(reason);
                    }
                    left.push(copy);
                    continue;
                }
            };
            match outcome {
                Ok(()) => {
                    is_any_back = true;
                    if let Some(shown) = shown {
                        shown.state = CopyState::Restored;
                    }
                    link::forget_link(places, owner, base, &base.join(&copy.path))?;
                }
                Err(error) => {
                    left.push(copy);
                    failure = Some(error);
                }
            }
        }
        left.sort_by(|a, b| a.path.cmp(&b.path));
        self.record.adopted = left;
        self.record.save(base)?;
        remove_empty(&base.join(".agents/.repertoire-adopted"));
        // The one place, if nothing else is there.
        if is_any_back {
            for directory in [base.join(CANONICAL), base.join(".agents")] {
                let _ = fs::remove_dir(directory);
            }
        }
        Ok(failure)
    }
}

fn copy_state(places: &Places, owner: Owner, base: &Path, copy: &AdoptedCopy) -> Readiness {
    let Some(path) = copy.place(places, owner, base) else {
        return Readiness::Changed("is not a directory that clients read skills from");
    };
    let kept = copy.kept(base, &path);
    let is_kept = kept.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    match path.symlink_metadata() {
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

fn restore(base: &Path, copy: &AdoptedCopy, path: &Path) -> Result<(), Error> {
    let kept = copy.kept(base, path);
    let link = fs::read_link(path).ok();
    if link.is_some() {
        link::remove_link(path).map_err(|error| Error::io("remove", path, error))?;
    }
    rename(&kept, path).inspect_err(|_| {
        // The link is better than nothing; a second error would say no more.
        if let Some(to) = link {
            let _ = link::make_link(&to, path);
        }
    })
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
