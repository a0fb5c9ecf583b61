//! The record of links and copies, so that they can be undone.
//!
//! A project's record may come from a cloned repository. So it is trusted only about links in directories
//! that skills are linked in and that do not lead out of the project, and it is neither read nor written if
//! it leads out of the project itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use repertoire::change::PathStep;
use repertoire::discovery::CLIENT_DIRECTORIES;
use repertoire::record::{Record, RecordKind};
use repertoire_model::SkillName;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::paths;
use crate::record_file;
use crate::{CANONICAL, Owner, Places};

/// The links and copies of a project or a home directory.
#[derive(Debug)]
pub(crate) struct LinkRecord(pub(super) Record<Vec<RecordedLink>>);

/// A link or a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedLink {
    /// Its path, relative to the project or the home directory if it lies there.
    pub path: String,
    /// The target of the link; none for a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The digest of the copied files; none for a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The clients that it was made for.
    pub clients: Vec<String>,
}

impl RecordedLink {
    /// Returns where it is, if that is a place that links are made in.
    pub fn place(&self, places: &Places, owner: Owner, base: &Path) -> Option<PathBuf> {
        let path = base.join(&self.path);
        let name = path.file_name()?.to_str()?;
        let name = SkillName::new(name).filter(|known| known.as_str() == name)?;
        let folders = CLIENT_DIRECTORIES.iter().flat_map(|client| places.directories(client, owner));
        let mut folders = folders.chain([base.join(CANONICAL)]);
        folders.any(|folder| folder.join(name.as_str()) == path).then_some(path)
    }
}

/// Returns the links that are recorded for the project and for the user.
pub(crate) fn recorded(places: &Places) -> BTreeSet<PathBuf> {
    let of_owner = |owner: Owner| {
        let base = places.base(owner)?;
        let record = LinkRecord::load(places, owner, &base).ok()?;
        let links = record.0.entries.iter().filter_map(|made| made.place(places, owner, &base));
        Some(links.collect::<Vec<_>>())
    };
    [Owner::Project, Owner::User].into_iter().filter_map(of_owner).flatten().collect()
}

impl LinkRecord {
    /// Reads the record of `base`, which is `owner`'s.
    pub(crate) fn load(places: &Places, owner: Owner, base: &Path) -> Result<Self, Error> {
        record_file::read(places, owner, base, RecordKind::Links).map(Self)
    }

    /// Returns what was made at `path`.
    pub(super) fn find(&self, base: &Path, path: &Path) -> Option<&RecordedLink> {
        let shown = paths::shown(base, path);
        self.0.entries.iter().find(|made| made.path == shown)
    }

    /// Records `made`; clients of an earlier link at the same path stay.
    pub(super) fn add(&mut self, mut made: RecordedLink) {
        match self.0.entries.iter_mut().find(|earlier| earlier.path == made.path) {
            Some(earlier) => {
                let mut clients = std::mem::take(&mut earlier.clients);
                made.clients.retain(|client| !clients.contains(client));
                clients.append(&mut made.clients);
                *earlier = RecordedLink { clients, ..made };
            }
            None => self.0.entries.push(made),
        }
        self.0.entries.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// Removes what was made at `path` from the record.
    pub(crate) fn forget(&mut self, base: &Path, path: &Path) {
        let shown = paths::shown(base, path);
        self.0.entries.retain(|made| made.path != shown);
    }

    /// Records the link at `path` that says `to`, which another command makes for `clients`, so that `rep
    /// undo` removes it.
    pub(crate) fn add_link(&mut self, base: &Path, path: &Path, to: &Path, clients: Vec<String>) {
        let to = Some(to.to_string_lossy().into_owned());
        self.add(RecordedLink { path: paths::shown(base, path), to, digest: None, clients });
    }

    /// Returns the steps that write the record.
    pub(crate) fn steps(&self) -> Result<impl Iterator<Item = PathStep>, Error> {
        Ok(self.0.steps()?)
    }
}

/// Returns the links that were made and lead nowhere by now, as they are shown.
pub fn dangling(places: &Places) -> Vec<Vec<String>> {
    let of_owner = |owner: Owner| {
        let base = places.base(owner)?;
        let record = LinkRecord::load(places, owner, &base).ok()?;
        let leads_nowhere = |made: &&RecordedLink| {
            let path = made.place(places, owner, &base).filter(|_| made.to.is_some());
            let leads_out = |path: &Path| path.parent().is_none_or(|it| paths::leads_out(places, owner, it));
            let path = path.filter(|path| path.is_symlink() && !leads_out(path));
            path.is_some_and(|path| matches!(path.try_exists(), Ok(false)))
        };
        let links: Vec<String> =
            record.0.entries.iter().filter(leads_nowhere).map(|made| made.path.clone()).collect();
        (!links.is_empty()).then_some(links)
    };
    [Owner::Project, Owner::User].into_iter().filter_map(of_owner).collect()
}
