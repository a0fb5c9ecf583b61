//! Completes a change that was interrupted, as by `kill -9` or a power failure.
//!
//! A project's record may come from a cloned repository. So no copy is put aside here: links are made where nothing stands, and a
//! copy is moved to the one place only where nothing stands there either.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use super::gather::{link_text, link_to_gathered, rename};
use super::record::{AdoptedCopy, Record, original};
use crate::Error;
use crate::link::forget_link;
use crate::{CANONICAL, Owner, Places};

/// Completes the change of `base` that was interrupted; returns `false` if there is none.
pub fn finish(places: &Places, owner: Owner, base: &Path) -> Result<bool, Error> {
    // A record that cannot be read is reported by the command that needs it.
    let marked = || {
        let record = Record::load(places, owner, base).ok();
        record.filter(|record| record.adopted.iter().any(|copy| copy.is_unfinished))
    };
    if marked().is_none() {
        return Ok(false);
    }
    // Another process may be at it still; it holds this lock then.
    let directory = File::open(base).ok();
    if matches!(directory.as_ref().map(File::try_lock), Some(Err(TryLockError::WouldBlock))) {
        return Ok(false);
    }
    let Some(mut record) = marked() else { return Ok(false) };
    let mut skills: BTreeMap<String, Vec<AdoptedCopy>> = BTreeMap::new();
    for copy in record.adopted.iter().filter(|copy| copy.is_unfinished) {
        skills.entry(copy.name.clone()).or_default().push(copy.clone());
    }
    for copies in skills.values() {
        complete(places, owner, base, copies)?;
    }
    // A copy that stands where it was has nothing to be undone, and no link in its place.
    let (back, left): (Vec<AdoptedCopy>, Vec<AdoptedCopy>) = std::mem::take(&mut record.adopted)
        .into_iter()
        .partition(|copy| copy.is_unfinished && is_untouched(places, owner, base, copy));
    for copy in &back {
        forget_link(places, owner, base, &base.join(&copy.path))?;
    }
    record.adopted = left;
    record.finish();
    record.save(base)?;
    Ok(true)
}

/// Makes what is missing of `copies`, those of one skill.
fn complete(places: &Places, owner: Owner, base: &Path, copies: &[AdoptedCopy]) -> Result<(), Error> {
    let placed = |copy: &AdoptedCopy| copy.place(places, owner, base);
    let Some(name) = copies.iter().find(|copy| placed(copy).is_some()).map(|copy| &copy.name) else {
        return Ok(());
    };
    let target = base.join(CANONICAL).join(name);
    // The copy that stood in the one place was put aside, and the one that counts did not get there.
    let is_given_up = copies.iter().any(|copy| copy.to.is_none()) && is_directory(&original(base, &target));
    if let Some(path) = copies.iter().find(|copy| copy.moved).and_then(placed)
        && is_given_up
        && is_absent(&target)
        && is_directory(&path)
    {
        rename(&path, &target)?;
    }
    if !is_directory(&target) {
        return Ok(());
    }
    for copy in copies.iter().filter(|copy| copy.to.is_some()) {
        let Some(path) = placed(copy).filter(|path| *path != target) else { continue };
        let is_moved = is_directory(&copy.kept(base, &path));
        let is_linked = fs::read_link(&path).is_ok_and(|to| to == link_text(base, &path, &target));
        if is_moved && (is_absent(&path) || is_linked) {
            link_to_gathered(places, owner, base, &path, &target)?;
        }
    }
    Ok(())
}

/// Returns `true` if `copy` stands where it was.
fn is_untouched(places: &Places, owner: Owner, base: &Path, copy: &AdoptedCopy) -> bool {
    let Some(path) = copy.place(places, owner, base) else { return false };
    is_directory(&path) && (copy.moved || !is_directory(&original(base, &path)))
}

/// Returns `true` if a directory stands at `path`, and no link to one.
fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// Returns `true` if nothing stands at `path`.
fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
