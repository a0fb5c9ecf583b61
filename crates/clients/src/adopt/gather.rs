//! Moves copies and makes links to them.

use std::fs;
use std::path::{Path, PathBuf};

use repertoire::discovery::{CLIENT_DIRECTORIES, ClientDirectories};

use super::plan::{AdoptPlan, GatheredSkill};
use super::record::{AdoptedCopy, Record, original};
use crate::{Error, Owner, Places, link, lock, paths};

/// The skills of a plan that were gathered.
#[derive(Debug)]
pub struct GatheredSkills {
    /// Their number, which counts from the first of the plan.
    pub number: usize,
    /// The error that ended it.
    pub failure: Option<Error>,
}

impl AdoptPlan {
    /// Gathers the skills. Other processes wait meanwhile, and do not take the change for one that was interrupted.
    pub fn gather(&self, places: &Places, owner: Owner, base: &Path) -> Result<GatheredSkills, Error> {
        let _lock = lock(base);
        let mut record = Record::load(places, owner, base)?;
        for (number, skill) in self.skills.iter().enumerate() {
            if let Err(error) = gather(places, owner, base, skill, &mut record) {
                let failure = Some(error.hint("`rep adopt --undo` puts back what was moved"));
                return Ok(GatheredSkills { number, failure });
            }
        }
        record.finish();
        record.save(base)?;
        Ok(GatheredSkills { number: self.skills.len(), failure: None })
    }
}

impl GatheredSkill {
    /// Returns what the link at `path` says that leads to the skill.
    pub fn link_text(&self, base: &Path, path: &Path) -> PathBuf {
        link_text(base, path, &self.target)
    }
}

/// Gathers the copies of `skill`. The record is written first, so that what a crash leaves half done can be completed or undone.
///
/// A copy is put aside only once the skill is in the one place, and its link is made at once. So all that can be missing after a
/// crash is the skill in the one place, where another copy counts, and one link.
fn gather(
    places: &Places,
    owner: Owner,
    base: &Path,
    skill: &GatheredSkill,
    record: &mut Record,
) -> Result<(), Error> {
    let copy = |path: &PathBuf, moved: bool| AdoptedCopy {
        name: skill.name.clone(),
        path: paths::shown(base, path),
        to: (*path != skill.target)
            .then(|| link_text(base, path, &skill.target).to_string_lossy().into_owned()),
        moved,
        is_unfinished: true,
    };
    let aside = skill.aside.iter().map(|path| copy(path, false));
    let adopted: Vec<AdoptedCopy> = aside.chain(skill.moved.iter().map(|path| copy(path, true))).collect();
    for copy in &adopted {
        // An original of an earlier run is never overwritten.
        let kept = original(base, &base.join(&copy.path));
        if !copy.moved && kept.symlink_metadata().is_ok() {
            return Err(Error::refused(format!("{} is there already", kept.display()))
                .hint("it is the original of an earlier `rep adopt`; undo that first, or remove it"));
        }
    }
    record.finish();
    record.adopted.retain(|earlier| !adopted.iter().any(|copy| copy.path == earlier.path));
    record.adopted.extend(adopted);
    record.adopted.sort_by(|a, b| a.path.cmp(&b.path));
    record.save(base)?;
    if skill.aside.contains(&skill.target) {
        rename(&skill.target, &original(base, &skill.target))?;
    }
    if let Some(moved) = &skill.moved {
        rename(moved, &skill.target)?;
        link_to_gathered(places, owner, base, moved, &skill.target)?;
    }
    for path in skill.aside.iter().filter(|path| **path != skill.target) {
        rename(path, &original(base, path))?;
        link_to_gathered(places, owner, base, path, &skill.target)?;
    }
    Ok(())
}

/// Makes and records the link at `path` that leads to `target`; a link that is there already is only recorded.
pub(super) fn link_to_gathered(
    places: &Places,
    owner: Owner,
    base: &Path,
    path: &Path,
    target: &Path,
) -> Result<(), Error> {
    let to = link_text(base, path, target);
    if !fs::read_link(path).is_ok_and(|found| found == to) {
        link::make_link(&to, path).map_err(|error| Error::io("make", path, error))?;
    }
    // The link is for the client whose own directory it is; others only read it too.
    let owns = |client: &&ClientDirectories| {
        places.directories(client, owner).first().is_some_and(|folder| path.parent() == Some(folder))
    };
    let clients = CLIENT_DIRECTORIES.iter().filter(owns).map(|client| client.id.to_owned()).collect();
    link::record_link(places, owner, base, path, &to, clients)
}

/// Returns what the link at `path` says that leads to `target`.
pub(super) fn link_text(base: &Path, path: &Path, target: &Path) -> PathBuf {
    let (base, folder) = (paths::resolved(base), paths::resolved(path.parent().unwrap_or(path)));
    let target = paths::resolved(target);
    if folder.starts_with(&base) && target.starts_with(&base) {
        paths::relative(&folder, &target)
    } else {
        target
    }
}

/// Renames a directory; its parent is made if it is missing.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|error| Error::io("make", parent, error))?;
    }
    // An empty directory would give way to the other one without a word.
    if to.symlink_metadata().is_ok() {
        return Err(Error::io("write", to, std::io::ErrorKind::AlreadyExists.into()));
    }
    fs::rename(from, to).map_err(|error| Error::io("move", from, error))
}
