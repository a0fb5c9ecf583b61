//! Reading and writing of the records below `.agents`, which may come from a cloned repository.

use std::fs;
use std::io;
use std::path::Path;

use repertoire::change::{FileKind, read_file, remove_leftovers, replace_file};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::paths;
use crate::{Owner, Places};

/// The version of the formats.
pub(crate) const VERSION: u32 = 1;

/// The largest record that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads the record at `path`, which is `owner`'s; `None` if there is none. Fails if it leads out of the project.
pub(crate) fn read(places: &Places, owner: Owner, path: &Path) -> Result<Option<Vec<u8>>, Error> {
    if paths::leads_out(places, owner, path) {
        return Err(Error::refused(format!("{} leads out of the project", path.display()))
            .hint("it is left alone; replace the link by a directory or a file"));
    }
    Ok(read_file(path, MAX_BYTES)?)
}

/// Parses the text of a record.
pub(crate) fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Box<dyn std::error::Error + Send + Sync>> {
    let record: serde_json::Value = serde_json::from_slice(text)?;
    match record["version"].as_u64() {
        Some(version) if version != u64::from(VERSION) => {
            Err(format!("version {version} is not known").into())
        }
        _ => Ok(serde_json::from_value(record)?),
    }
}

/// Writes `record` to `path`, or removes the file if there is nothing to record. `text` is the text as it was read or written before.
pub(crate) fn write(
    path: &Path,
    record: Option<&impl Serialize>,
    text: &mut Option<Vec<u8>>,
) -> Result<(), Error> {
    remove_leftovers(path);
    let Some(record) = record else {
        *text = None;
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
            _ => Ok(()),
        };
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| Error::io("make", parent, error))?;
    }
    let mut new =
        serde_json::to_vec_pretty(record).map_err(|error| Error::io("write", path, error.into()))?;
    new.push(b'\n');
    if text.as_ref() != Some(&new) {
        replace_file(path, FileKind::User { before: text.as_deref() }, Some(&new))?;
        *text = Some(new);
    }
    Ok(())
}
