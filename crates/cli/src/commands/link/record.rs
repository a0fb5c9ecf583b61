//! The record of links and copies, so that they can be undone: `.agents/.repertoire-links.json` in the project or the home directory.
//!
//! A project's record may come from a cloned repository. So it is trusted only about links in directories that skills are linked in
//! and that do not lead out of the project, and it is neither read nor written if it leads out of the project itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use repertoire::discovery::CLIENT_DIRECTORIES;
use repertoire_model::SkillName;
use serde::{Deserialize, Serialize};

use super::leftovers::remove_leftovers;
use super::paths;
use crate::clients::{CANONICAL, Owner, Places};
use crate::error::CliError;
use crate::replace_file;
use repertoire::regular_file;

/// The path of the record.
const FILE: &str = ".agents/.repertoire-links.json";

/// The version of the format.
const VERSION: u32 = 1;

/// The largest record that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The links and copies of a project or a home directory.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) made: Vec<RecordedLink>,
    /// The text as it was read.
    text: Option<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct RecordJson {
    version: u32,
    links: Vec<RecordedLink>,
}

/// A link or a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedLink {
    /// Where, relative to the project or the home directory if it lies there.
    pub(crate) path: String,
    /// What the link says; none for a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// The digest of the copied files; none for a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
    /// The clients that it was made for.
    pub(crate) clients: Vec<String>,
}

impl RecordedLink {
    /// Returns where it is, if that is a place that links are made in.
    pub(super) fn place(&self, places: &Places, owner: Owner, base: &Path) -> Option<PathBuf> {
        let path = base.join(&self.path);
        let name = path.file_name()?.to_str()?;
        let name = SkillName::new(name).filter(|known| known.as_str() == name)?;
        let folders = CLIENT_DIRECTORIES.iter().flat_map(|client| places.directories(client, owner));
        let mut folders = folders.chain([base.join(CANONICAL)]);
        folders.any(|folder| folder.join(name.as_str()) == path).then_some(path)
    }
}

impl Record {
    /// Reads the record of `base`, which is `owner`'s; empty if there is no record.
    pub(super) fn load(places: &Places, owner: Owner, base: &Path) -> Result<Self, CliError> {
        let path = base.join(FILE);
        if paths::leads_out(places, owner, &path) {
            return Err(CliError::no(format!("{} leads out of the project", path.display()))
                .hint("it is left alone; replace the link by a directory or a file"));
        }
        let bytes = match regular_file::read(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(CliError::io("read", &path, error)),
        };
        let broken = |error: anyhow::Error| {
            CliError::no(format!("{} is not a record of links", path.display()))
                .because(error)
                .hint("remove it, and the links that are not wanted any more by hand")
        };
        let record: RecordJson = serde_json::from_slice(&bytes).map_err(|error| broken(error.into()))?;
        if record.version != VERSION {
            return Err(broken(anyhow::anyhow!("version {} is not known", record.version)));
        }
        Ok(Self { made: record.links, text: Some(bytes) })
    }

    /// Returns what was made at `path`.
    pub(super) fn find(&self, base: &Path, path: &Path) -> Option<&RecordedLink> {
        let shown = paths::shown(base, path);
        self.made.iter().find(|made| made.path == shown)
    }

    /// Records `made`; clients of an earlier link at the same path stay.
    pub(super) fn add(&mut self, mut made: RecordedLink) {
        match self.made.iter_mut().find(|earlier| earlier.path == made.path) {
            Some(earlier) => {
                let mut clients = std::mem::take(&mut earlier.clients);
                made.clients.retain(|client| !clients.contains(client));
                clients.append(&mut made.clients);
                *earlier = RecordedLink { clients, ..made };
            }
            None => self.made.push(made),
        }
        self.made.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// Writes the record, or removes it where nothing is left to undo.
    pub(super) fn save(&mut self, base: &Path) -> Result<(), CliError> {
        let path = base.join(FILE);
        remove_leftovers(&path);
        if self.made.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(CliError::io("remove", &path, error))
                }
                _ => Ok(()),
            };
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| CliError::io("make", parent, error))?;
        }
        let links = self.made.clone();
        let mut text = serde_json::to_vec_pretty(&RecordJson { version: VERSION, links })?;
        text.push(b'\n');
        if self.text.as_ref() == Some(&text) {
            return Ok(());
        }
        replace_file::replace(&path, self.text.as_deref(), &text)?;
        self.text = Some(text);
        Ok(())
    }
}
