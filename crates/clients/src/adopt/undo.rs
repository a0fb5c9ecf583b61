//! The change that puts gathered copies back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use repertoire::change::{PathStep, TakenBack};

use super::record::{self, AdoptedCopy};
use crate::link::LinkRecord;
use crate::{Error, Owner, Places};

/// The readiness of a recorded copy to be put back.
enum Readiness {
    /// It can be put back: a link of ours or nothing stands in its place.
    Ready(PathBuf),
    /// It is where it was.
    Back,
    /// It is left alone, for this reason.
    Changed(&'static str),
}

/// Plans to put back the copies of the skills that are meant.
pub fn put_back(
    places: &Places,
    owner: Owner,
    base: &Path,
    is_meant: &dyn Fn(&str) -> bool,
) -> Result<TakenBack, Error> {
    let (mut record, mut links) =
        (record::load(places, owner, base)?, LinkRecord::load(places, owner, base)?);
    let (mut meant, mut left): (Vec<AdoptedCopy>, Vec<AdoptedCopy>) =
        std::mem::take(&mut record.entries).into_iter().partition(|copy| is_meant(&copy.name));
    // The one place is given up last, because links lead to it, and taken again after that.
    meant.sort_by_key(|copy| (copy.moved || copy.to.is_none(), copy.to.is_none()));
    let (mut back, mut given_up) = (TakenBack::default(), BTreeSet::new());
    for copy in meant {
        let is_given_up = copy.to.is_none() && given_up.contains(&copy.name);
        match readiness(places, owner, base, &copy, is_given_up) {
            Readiness::Changed(reason) => {
                back.changed.push((base.join(&copy.path), reason.to_owned()));
                left.push(copy);
                continue;
            }
            Readiness::Back => {}
            Readiness::Ready(path) => {
                let from = copy.kept(base, &path);
                if let (Ok(to), false) = (fs::read_link(&path), is_given_up) {
                    back.change.steps.push(PathStep::remove_link(&path, to));
                }
                back.change.steps.push(PathStep::Move { from, to: path });
                if copy.moved {
                    given_up.insert(copy.name.clone());
                }
            }
        }
        links.forget(base, &base.join(&copy.path));
    }
    left.sort_by(|a, b| a.path.cmp(&b.path));
    record.entries = left;
    back.change.steps.extend(links.steps()?);
    back.change.steps.extend(record.steps()?);
    Ok(back)
}

/// Returns the names of the skills whose copies are gathered, each with the paths that these had.
pub fn gathered(places: &Places, owner: Owner, base: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let copies = record::load(places, owner, base)?.entries;
    Ok(copies.into_iter().map(|copy| (copy.name, base.join(copy.path))).collect())
}

/// Returns the readiness of `copy`. Nothing stands in its place any more if that `is_given_up` by then.
fn readiness(places: &Places, owner: Owner, base: &Path, copy: &AdoptedCopy, is_given_up: bool) -> Readiness {
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
