//! The journal of a change, from which it is completed or undone after a crash.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use repertoire_model::Digest;
use serde::{Deserialize, Serialize};

use super::path_step::PathStep;
use super::place::ChangePlace;
use super::replace_file::{FileKind, read_file, replace_file};
use crate::Error;

const VERSION: u32 = 4;

/// The largest journal that is read, in bytes.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// The ending of the names of journals.
pub(super) const ENDING: &str = "json";

/// A change that has begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    /// The name of the command, for messages.
    pub(super) command: String,
    /// The skills, clients or patterns that it is about, for the record.
    #[serde(default)]
    pub(super) about: Vec<String>,
    /// When it began, in milliseconds since 1970.
    #[serde(default)]
    pub(super) time: u64,
    /// The time of the change that it takes back.
    #[serde(default)]
    pub(super) undoes: Option<u64>,
    /// The skills, with the digests of their files before and after the change.
    pub(super) skills: Vec<JournalSkill>,
    /// The other steps, which are taken in this order once the skills are in place.
    pub(super) steps: Vec<PathStep>,
    /// The directories that it makes on the way.
    #[serde(default)]
    pub(super) made: Vec<PathBuf>,
    /// `true` if the change could not be completed, and is being undone.
    #[serde(default)]
    pub(super) is_undo: bool,
}

/// A skill that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalSkill {
    /// Its directory.
    pub directory: PathBuf,
    /// The digest of its files before; none if it is added.
    #[serde(with = "digest_text")]
    pub before: Option<Digest>,
    /// The digest of its files after it; none if it is removed.
    #[serde(with = "digest_text")]
    pub after: Option<Digest>,
    /// Everything else in its directory that is removed with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

/// Digests as text.
mod digest_text {
    use repertoire_model::Digest;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(digest: &Option<Digest>, to: S) -> Result<S::Ok, S::Error> {
        digest.map(|digest| digest.to_string()).serialize(to)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<Digest>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| Digest::parse(&text).ok_or_else(|| D::Error::custom("not a digest"))).transpose()
    }
}

#[derive(Serialize, Deserialize)]
struct JournalFile {
    version: u32,
    #[serde(flatten)]
    journal: Journal,
}

/// Returns the digests of all bundles that the journals in `directory` name; `None` if one is unreadable.
pub(super) fn named_bundles(directory: &Path) -> Option<BTreeSet<Digest>> {
    let mut named = BTreeSet::new();
    for child in fs::read_dir(directory).ok()? {
        let path = child.ok()?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            let journal = parse(&read_file(&path, MAX_BYTES).ok()??)?;
            named.extend(journal.skills.iter().flat_map(|skill| [skill.before, skill.after]).flatten());
        }
    }
    Some(named)
}

impl Journal {
    /// Returns the journal of `place`, if a change has begun and not ended. One that cannot be understood
    /// counts as none: it is never half written, so that a newer version has made it.
    pub(super) fn read(place: &ChangePlace) -> Result<Option<Self>, Error> {
        let path = place.file(ENDING);
        let Some(bytes) = read_file(&path, MAX_BYTES)? else { return Ok(None) };
        Ok(parse(&bytes))
    }

    pub(super) fn write(&self, place: &ChangePlace) -> Result<(), Error> {
        let journal = JournalFile { version: VERSION, journal: self.clone() };
        let path = place.file(ENDING);
        let bytes = serde_json::to_vec(&journal)
            .map_err(|error| Error::io("write", &path, io::Error::other(error)))?;
        // It has texts of other programs' configuration.
        replace_file(&path, FileKind::PrivateRecord, Some(&bytes))
    }

    pub(super) fn remove(place: &ChangePlace) -> Result<(), Error> {
        replace_file(&place.file(ENDING), FileKind::Record, None)
    }
}

fn parse(bytes: &[u8]) -> Option<Journal> {
    let file: JournalFile = serde_json::from_slice(bytes).ok()?;
    (file.version == VERSION).then_some(file.journal)
}
