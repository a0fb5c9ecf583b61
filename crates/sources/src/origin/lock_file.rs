//! Reads lock files: bounded, tolerant, and never through a link that a repository brought along.

use std::io;
use std::path::{Path, PathBuf};

use repertoire::regular_file;
use repertoire_model::yaml;
use serde_json::{Map, Value};

use super::record::{Origin, bounded};

/// The largest lock file that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The most values of a YAML lock file.
const MAX_NODES: usize = 200_000;

/// The most skills of a lock file.
const MAX_SKILLS: usize = 10_000;

/// A skill that a lock file names.
#[derive(Debug, Clone)]
pub(super) struct LockedSkill {
    pub(super) origin: Origin,
    pub(super) place: LockedPlace,
}

/// The place of a skill that a lock file names.
#[derive(Debug, Clone)]
pub(super) enum LockedPlace {
    /// A directory of this name in any of the directories of skills around the lock file.
    Named(String),
    /// This directory.
    At(PathBuf),
    /// Any directory below this one.
    Below(PathBuf),
}

/// The format of a lock file.
#[derive(Debug, Clone, Copy)]
pub(super) enum LockFormat {
    Json,
    Toml,
    Yaml,
}

/// Returns the document in the lock file at `path`; `None` if it is missing, and the reason if it is invalid.
pub(super) fn read(path: &Path, format: LockFormat) -> Option<Result<Value, String>> {
    let bytes = match regular_file::read_no_follow(path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return None;
        }
        Err(error) => return Some(Err(error.to_string())),
    };
    let Ok(text) = String::from_utf8(bytes) else { return Some(Err("it is not UTF-8".to_owned())) };
    Some(match format {
        LockFormat::Json => serde_json::from_str(&text).map_err(|error| error.to_string()),
        LockFormat::Toml => {
            toml::from_str(&text).map_err(|error: toml::de::Error| error.message().to_owned())
        }
        LockFormat::Yaml => match yaml::parse_within(&text, &mut { MAX_NODES }) {
            Ok(parsed) => Ok(parsed.root.map_or(Value::Null, |root| root.to_json())),
            Err(fault) => Err(fault.message),
        },
    })
}

/// Returns the text of `key` in `object`, bounded; empty text counts as none.
pub(super) fn text(object: &Value, key: &str) -> Option<String> {
    let text = match object.get(key)? {
        Value::String(text) => bounded(text),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the skills below `key`, by name.
pub(super) fn skills_by_name<'a>(
    document: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    document.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter).take(MAX_SKILLS)
}

/// Returns the items of the list below `key`.
pub(super) fn items<'a>(document: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    document.get(key).and_then(Value::as_array).into_iter().flatten().take(MAX_SKILLS)
}
