//! The journal of a change, from which it is completed or undone after a crash.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use repertoire_model::Digest;
use serde::{Deserialize, Serialize};

use super::leftovers::remove_oldest;
use super::path_step::PathStep;
use super::place::ChangePlace;
use super::replace_file::{FileKind, read_file, replace_file};
use crate::Error;

/// The version of the format.
const VERSION: u32 = 4;

/// The largest journal that is read, in bytes.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// The most changes of a place that are recorded.
const MAX_RECORDS: usize = 20;

/// The ending of the names of journals.
pub(super) const ENDING: &str = "json";

/// The ending of the names of the records of changes that were carried out.
pub(super) const RECORD_ENDING: &str = "done";

/// A change that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Journal {
    /// The name of the command, for messages.
    pub(super) command: String,
    /// The skills, with the digests of their files before and after the change.
    pub(super) skills: Vec<JournalSkill>,
    /// The other steps, which are taken in this order once the skills are in place.
    pub(super) steps: Vec<PathStep>,
    /// `true` if the change could not be completed, and is being undone.
    pub(super) is_undo: bool,
}

/// A skill that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JournalSkill {
    /// Its directory.
    pub(super) directory: PathBuf,
    /// None if it is added.
    pub(super) before: Option<Digest>,
    /// None if it is removed.
    pub(super) after: Option<Digest>,
    /// Everything else in its directory that is removed with it.
    pub(super) others: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct JournalJson {
    version: u32,
    command: String,
    skills: Vec<SkillJson>,
    steps: Vec<PathStep>,
    #[serde(default)]
    is_undo: bool,
}

#[derive(Serialize, Deserialize)]
struct SkillJson {
    directory: PathBuf,
    before: Option<String>,
    after: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
}

/// Returns the digests of all bundles that the journals and records in `directory` name; `None` if one of them cannot be read.
pub(super) fn named_bundles(directory: &Path) -> Option<BTreeSet<Digest>> {
    let is_journal = |ending: &OsStr| ending == ENDING || ending == RECORD_ENDING;
    let mut named = BTreeSet::new();
    for child in fs::read_dir(directory).ok()? {
        let path = child.ok()?.path();
        if path.extension().is_some_and(is_journal) {
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

    /// Writes the journal.
    pub(super) fn write(&self, place: &ChangePlace) -> Result<(), Error> {
        let skill = |skill: &JournalSkill| SkillJson {
            directory: skill.directory.clone(),
            before: skill.before.map(|digest| digest.to_string()),
            after: skill.after.map(|digest| digest.to_string()),
            others: skill.others.clone(),
        };
        let journal = JournalJson {
            version: VERSION,
            command: self.command.clone(),
            skills: self.skills.iter().map(skill).collect(),
            steps: self.steps.clone(),
            is_undo: self.is_undo,
        };
        let path = place.file(ENDING);
        let bytes = serde_json::to_vec(&journal)
            .map_err(|error| Error::io("write", &path, io::Error::other(error)))?;
        // It has texts of other programs' configuration.
        replace_file(&path, FileKind::PrivateRecord, Some(&bytes))
    }

    /// Keeps the journal of `place` as the record of a change that was carried out, and removes the oldest records.
    pub(super) fn record(place: &ChangePlace) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (Some(directory), Some(name)) = (place.journal.parent(), place.journal.file_name()) else {
            return;
        };
        let suffix = format!(".{}.{RECORD_ENDING}", name.to_string_lossy());
        // A change that cannot be recorded was made all the same. A journal that stays is that of a completed
        // change, which the next command finds to be so.
        let _ = fs::rename(place.file(ENDING), directory.join(format!("{:015}{suffix}", now.as_millis())));
        remove_oldest(directory, &suffix, MAX_RECORDS);
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
        let (before, after) = (digest(skill.before)?, digest(skill.after)?);
        Some(JournalSkill { directory: skill.directory, before, after, others: skill.others })
    };
    let skills: Option<Vec<JournalSkill>> = journal.skills.into_iter().map(skill).collect();
    let JournalJson { command, steps, is_undo, .. } = journal;
    Some(Journal { command, skills: skills?, steps, is_undo })
}
