//! The record of gathered copies, and the originals below `.agents/.repertoire-adopted`.
//!
//! A project's record may come from a cloned repository. So it names nothing but directories of skills that
//! clients read, and the place of an original follows from its path and is not recorded.

use std::path::{Path, PathBuf};

use repertoire::discovery::CLIENT_DIRECTORIES;
use repertoire::record::{Record, RecordKind};
use repertoire_model::SkillName;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::paths;
use crate::record_file;
use crate::{CANONICAL, Owner, Places};

/// The directory of the originals.
pub(super) const ORIGINALS: &str = ".agents/.repertoire-adopted";

/// The gathered copies of a project or a home directory.
pub(super) type AdoptedRecord = Record<Vec<AdoptedCopy>>;

/// A copy that was moved or put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AdoptedCopy {
    /// The name of the skill.
    pub(super) name: String,
    /// The path that it had, relative to the project or the home directory if it lay there.
    pub(super) path: String,
    /// The target of the link that stands there now, if a client needs one; none in `.agents/skills` itself.
    pub(super) to: Option<String>,
    /// `true` if it was moved to `.agents/skills`; otherwise it was put aside.
    pub(super) moved: bool,
}

impl AdoptedCopy {
    /// Returns where it was, if clients read skills there, and neither that nor where it is now leads out.
    pub(super) fn place(&self, places: &Places, owner: Owner, base: &Path) -> Option<PathBuf> {
        let path = base.join(&self.path);
        let name = path.file_name()?.to_str()?;
        let is_name = |name: &str| SkillName::new(name).is_some_and(|known| known.as_str() == name);
        let is_place = folders(places, owner, base).iter().any(|folder| folder.join(name) == path);
        let kept = self.kept(base, &path);
        let leads_out = [&path, &kept].iter().any(|path| has_parent_outside(places, owner, path));
        (is_name(name) && is_name(&self.name) && is_place && !leads_out).then_some(path)
    }

    /// Returns where the copy is now.
    pub(super) fn kept(&self, base: &Path, path: &Path) -> PathBuf {
        if self.moved { base.join(CANONICAL).join(&self.name) } else { original(base, path) }
    }
}

/// Returns where the original of the copy at `path` is kept.
pub fn original(base: &Path, path: &Path) -> PathBuf {
    let shown = paths::shown(base, path);
    base.join(ORIGINALS).join(shown.trim_start_matches('/').replace(':', "_"))
}

/// Returns `true` if the directory that `path` lies in leads out of the project.
pub(super) fn has_parent_outside(places: &Places, owner: Owner, path: &Path) -> bool {
    path.parent().is_none_or(|parent| paths::leads_out(places, owner, parent))
}

/// Returns the directories of skills that clients read for `owner`.
pub(super) fn folders(places: &Places, owner: Owner, base: &Path) -> Vec<PathBuf> {
    let mut folders = vec![base.join(CANONICAL)];
    for folder in CLIENT_DIRECTORIES.iter().flat_map(|client| places.directories(client, owner)) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.retain(|folder| !paths::leads_out(places, owner, folder));
    folders
}

/// Returns the error that `directory` leads out of the project.
pub(super) fn leads_out(directory: &Path) -> Error {
    Error::refused(format!("{} leads out of the project", directory.display()))
        .hint("it is left alone; replace the link by a directory")
}

/// Reads the record of `base`, which is `owner`'s.
pub(super) fn load(places: &Places, owner: Owner, base: &Path) -> Result<AdoptedRecord, Error> {
    for directory in [CANONICAL, ORIGINALS].map(|directory| base.join(directory)) {
        if paths::leads_out(places, owner, &directory) {
            return Err(leads_out(&directory));
        }
    }
    record_file::read(places, owner, base, RecordKind::Adopted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn originals_lie_below_the_base() {
        let kept = original(Path::new("/p"), Path::new("/elsewhere/skills/x"));
        assert_eq!(kept, Path::new("/p/.agents/.repertoire-adopted/elsewhere/skills/x"));
        let kept = original(Path::new("/p"), Path::new("/p/.claude/skills/x"));
        assert_eq!(kept, Path::new("/p/.agents/.repertoire-adopted/.claude/skills/x"));
    }
}
