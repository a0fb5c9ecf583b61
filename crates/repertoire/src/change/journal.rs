//! The journal of a change, from which it is completed or undone after a crash.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use repertoire_model::{Digest, SkillName, SkillPath};
use serde::{Deserialize, Serialize};

use super::place::ChangePlace;
use super::replace_file::{FileKind, MAX_FILE_BYTES, read_file, replace_file};
use crate::{Error, ErrorKind};

/// The version of the format.
const VERSION: u32 = 3;

/// The largest journal that is read, in bytes.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// The ending of the names of journals.
pub(super) const ENDING: &str = "json";

/// A change that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Journal {
    /// The skills, with the digests of their files before and after the change.
    pub(super) skills: Vec<JournalSkill>,
    /// The files, which are written last and in this order.
    pub(super) files: Vec<FileStep>,
    /// Links to removed skills.
    pub(super) links: Vec<JournalLink>,
    /// `true` if the change could not be completed, and is being undone.
    pub(super) is_undo: bool,
}

/// A skill that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JournalSkill {
    pub(super) name: SkillName,
    /// None if it is added.
    pub(super) before: Option<Digest>,
    /// None if it is removed.
    pub(super) after: Option<Digest>,
    /// Everything else in its directory that is removed with it.
    pub(super) others: Vec<String>,
}

impl FileStep {
    /// Fails with [`ErrorKind::FileChanged`] if the file is not as before.
    pub(super) fn expect_before(&self) -> Result<(), Error> {
        if read_file(&self.path, MAX_FILE_BYTES)?.as_deref() == self.before.as_deref().map(str::as_bytes) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::FileChanged).at(&self.path))
    }
}

/// A link that is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalLink {
    pub(super) path: PathBuf,
    /// The text of the link.
    pub(super) to: PathBuf,
}

/// A file that changes with the skills, such as a lock. It is written as [`FileKind::Record`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStep {
    /// Its absolute path.
    pub path: PathBuf,
    /// Its text as it is; none if it is not there.
    pub before: Option<String>,
    /// Its text as it will be; none if it is removed.
    pub after: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct JournalJson {
    version: u32,
    skills: Vec<SkillJson>,
    files: Vec<FileStep>,
    links: Vec<JournalLink>,
    #[serde(default)]
    is_undo: bool,
}

#[derive(Serialize, Deserialize)]
struct SkillJson {
    name: String,
    before: Option<String>,
    after: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
}

/// Returns the digests of all bundles that the journals in `directory` name.
pub(super) fn named_bundles(directory: &Path) -> BTreeSet<Digest> {
    let paths = fs::read_dir(directory).into_iter().flatten().flatten().map(|child| child.path());
    let journals = paths.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
    let journals = journals.filter_map(|path| parse(&read_file(&path, MAX_BYTES).ok()??));
    journals
        .flat_map(|journal| journal.skills)
        .flat_map(|skill| [skill.before, skill.after])
        .flatten()
        .collect()
}

impl Journal {
    /// Returns the journal of `place`, if a change has begun and not ended. One that cannot be understood counts as none: it
    /// is never half written, so that a newer version has made it.
    pub(super) fn read(place: &ChangePlace) -> Result<Option<Self>, Error> {
        let path = place.file(ENDING);
        let Some(bytes) = read_file(&path, MAX_BYTES)? else { return Ok(None) };
        Ok(parse(&bytes))
    }

    /// Writes the journal.
    pub(super) fn write(&self, place: &ChangePlace) -> Result<(), Error> {
        let skill = |skill: &JournalSkill| SkillJson {
            name: skill.name.to_string(),
            before: skill.before.map(|digest| digest.to_string()),
            after: skill.after.map(|digest| digest.to_string()),
            others: skill.others.clone(),
        };
        let journal = JournalJson {
            version: VERSION,
            skills: self.skills.iter().map(skill).collect(),
            files: self.files.clone(),
            links: self.links.clone(),
            is_undo: self.is_undo,
        };
        let path = place.file(ENDING);
        let bytes = serde_json::to_vec(&journal)
            .map_err(|error| Error::io("write", &path, std::io::Error::other(error)))?;
        replace_file(&path, FileKind::Record, Some(&bytes))
    }

    /// Removes the journal of `place`: the change has ended.
    pub(super) fn remove(place: &ChangePlace) -> Result<(), Error> {
        replace_file(&place.file(ENDING), FileKind::Record, None)
    }
}

fn parse(bytes: &[u8]) -> Option<Journal> {
    let journal: JournalJson = serde_json::from_slice(bytes).ok()?;
    if journal.version != VERSION {
        return None;
    }
    let digest = |text: Option<String>| match text {
        Some(text) => Digest::parse(&text).map(Some),
        None => Some(None),
    };
    let skill = |skill: SkillJson| {
        let name = SkillName::new(&skill.name).filter(|name| SkillPath::new(name.as_str()).is_ok())?;
        let (before, after) = (digest(skill.before)?, digest(skill.after)?);
        Some(JournalSkill { name, before, after, others: skill.others })
    };
    let skills: Option<Vec<JournalSkill>> = journal.skills.into_iter().map(skill).collect();
    let JournalJson { files, links, is_undo, .. } = journal;
    Some(Journal { skills: skills?, files, links, is_undo })
}
