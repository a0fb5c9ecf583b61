//! The removal of the recorded links and unchanged copies.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use repertoire::change::{InstalledSkill, PathStep, SkillStep, TakenBack, read_installed};
use repertoire_model::patch::{SkillFiles, bundle};

use super::record::{LinkRecord, RecordedLink};
use crate::{CANONICAL, Error, Owner, Places, paths};

/// Plans to remove the links and copies that were made at the paths and for the clients that are meant.
pub fn remove_made(
    places: &Places,
    owner: Owner,
    base: &Path,
    is_meant: &dyn Fn(&Path, &str) -> bool,
) -> Result<TakenBack, Error> {
    let mut record = LinkRecord::load(places, owner, base)?;
    let (mut back, mut kept) = (TakenBack::default(), Vec::new());
    let mut entries = std::mem::take(&mut record.0.entries);
    // Links to other links go first.
    entries.sort_by_key(|made| made.path.starts_with(CANONICAL));
    for made in entries {
        let path = base.join(&made.path);
        let (leaving, staying): (Vec<String>, Vec<String>) =
            made.clients.iter().cloned().partition(|client| is_meant(&path, client));
        if leaving.is_empty() || !staying.is_empty() {
            kept.push(RecordedLink { clients: staying, ..made });
            continue;
        }
        match (survival(places, owner, base, &made), &made.to) {
            (Survival::Gone, _) => {}
            // A changed link is the user's from now on.
            (Survival::Changed(reason), _) => back.changed.push((path, reason.to_owned())),
            (Survival::OwnEntries, Some(to)) => back.change.steps.push(PathStep::remove_link(path, to)),
            (Survival::OwnEntries, None) => {
                let InstalledSkill { files, others, .. } = read_installed(&path)?.unwrap_or_default();
                // What was put beside the files stays.
                let after = (!others.is_empty()).then(|| Cow::Owned(SkillFiles::new()));
                let (before, others) = (Some(Cow::Owned(files)), Cow::Owned(others));
                back.change.skills.push(SkillStep { directory: path, before, after, others });
            }
        }
    }
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    record.0.entries = kept;
    back.change.steps.extend(record.steps()?);
    Ok(back)
}

/// Returns the links and copies that are recorded, with the clients that they were made for.
pub fn made(places: &Places, owner: Owner, base: &Path) -> Result<Vec<RecordedLink>, Error> {
    Ok(LinkRecord::load(places, owner, base)?.0.entries)
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
