//! Reads `<directory>/<role>/system_prompt.md`.
//!
//! The role's name is never part of a path: the directory is listed, and the entry of that name is opened.

use std::path::{Path, PathBuf};

use repertoire_model::{SkillName, SkillPath};

use super::template::MAX_TEMPLATE_BYTES;
use super::template_subset;
use crate::provider::fs::safe_dir::{EntryKind, FsFault, SafeDir};
use crate::{Error, ErrorKind};

/// The name of a role's prompt file.
pub const SYSTEM_PROMPT_FILE: &str = "system_prompt.md";

/// The most entries of a directory of roles that are read.
const MAX_ROLES: usize = 10_000;

/// The most files that a prompt file includes, directly and indirectly. Their number bounds their depth.
const MAX_INCLUDES: usize = 64;

/// Returns the path and the text of the role's prompt in the first of `directories` that has one.
pub(super) fn read(directories: &[PathBuf], role: &SkillName) -> Result<Option<(PathBuf, String)>, Error> {
    for directory in directories {
        if let Some(found) = read_in(directory, role)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn read_in(directory: &Path, role: &SkillName) -> Result<Option<(PathBuf, String)>, Error> {
    let handle = match SafeDir::open(directory) {
        Ok(handle) => handle,
        Err(FsFault::Missing | FsFault::NotDirectory) => return Ok(None),
        Err(fault) => return Err(error(fault, role, directory)),
    };
    let listing = handle.entries(MAX_ROLES).map_err(|fault| error(fault, role, directory))?;
    let named = |name: &str| SkillName::new(name).is_some_and(|name| name == *role);
    let mut found: Vec<_> =
        listing.entries.iter().filter(|entry| entry.decoded && named(&entry.name)).collect();
    // Of two spellings of one name the requested one counts, else the first.
    found.sort_by_key(|entry| (entry.name != role.as_str(), &entry.name));
    let Some(entry) = found.first() else {
        if listing.more {
            return Err(Error::new(ErrorKind::TooLarge).about(role.as_str()).at(directory));
        }
        return Ok(None);
    };
    let path = directory.join(&entry.name);
    match entry.kind {
        EntryKind::Directory => {}
        EntryKind::Link => return Err(error(FsFault::Link, role, &path)),
        EntryKind::File | EntryKind::Special => return Ok(None),
    }
    let home = handle.open_dir(&entry.name).map_err(|fault| error(fault, role, &path))?;
    let path = path.join(SYSTEM_PROMPT_FILE);
    let bytes = match home.read(SYSTEM_PROMPT_FILE, MAX_TEMPLATE_BYTES) {
        Ok((bytes, _)) => bytes,
        Err(FsFault::Missing) => return Ok(None),
        Err(fault) => return Err(error(fault, role, &path)),
    };
    match String::from_utf8(bytes) {
        Ok(text) => expand(&home, &text, &mut MAX_INCLUDES.clone())
            .map(|text| Some((path.clone(), text)))
            .map_err(|error| error.about(role.as_str()).at(&path)),
        Err(fault) => {
            Err(Error::new(ErrorKind::InvalidTemplate).about(role.as_str()).at(&path).because(fault))
        }
    }
}

/// Returns `text` with the files that it includes, and that these include, in their places. Paths start at
/// `home`, which they do not leave; `left` is the number of files that may still be included.
fn expand(home: &SafeDir, text: &str, left: &mut usize) -> Result<String, Error> {
    // A renderer of the host may accept more than ours.
    let Ok(includes) = template_subset::includes(text) else { return Ok(text.to_owned()) };
    let mut expanded = String::with_capacity(text.len());
    let mut end = 0;
    for include in includes {
        let refused = |why: String| Error::new(ErrorKind::InvalidTemplate).because(why);
        let failed =
            |why: &dyn std::fmt::Display| refused(format!("`{}` is not included: {why}", include.path));
        *left = left
            .checked_sub(1)
            .ok_or_else(|| refused(format!("it includes more than {MAX_INCLUDES} files")))?;
        let path = SkillPath::new(include.path).map_err(|fault| failed(&fault))?;
        let read = home.read(path.as_str(), MAX_TEMPLATE_BYTES).map_err(|fault| failed(&fault.into_io()))?;
        let file = String::from_utf8(read.0).map_err(|fault| failed(&fault))?;
        let file = expand(home, file.strip_suffix('\n').unwrap_or(&file), left)?;
        let tag = &text[include.range.clone()];
        let before = &text[end..include.range.start];
        expanded += if tag.starts_with("{%-") { before.trim_end() } else { before };
        expanded += &file;
        end = include.range.end;
        if tag.ends_with("-%}") {
            end = text.len() - text[end..].trim_start().len();
        }
        if expanded.len() as u64 > MAX_TEMPLATE_BYTES {
            return Err(Error::new(ErrorKind::TooLarge));
        }
    }
    Ok(expanded + &text[end..])
}

fn error(fault: FsFault, role: &SkillName, path: &Path) -> Error {
    let kind = match fault {
        FsFault::Missing | FsFault::NotDirectory => ErrorKind::FileNotFound,
        FsFault::IsDirectory => ErrorKind::IsDirectory,
        FsFault::Link | FsFault::Special | FsFault::Outside => ErrorKind::Forbidden,
        FsFault::TooLarge(_) => ErrorKind::TooLarge,
        FsFault::Changed | FsFault::Denied(_) | FsFault::Io(_) => ErrorKind::Io,
    };
    Error::new(kind).about(role.as_str()).at(path).because(fault.into_io())
}
