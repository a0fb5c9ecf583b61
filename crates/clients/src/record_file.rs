//! Reading and writing of the records below `.agents`, which may come from a cloned repository.

use std::path::{Path, PathBuf};

use repertoire::change::{FileStep, PathStep, read_file};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::paths;
use crate::{Owner, Places};

/// The version of the formats.
pub(crate) const VERSION: u32 = 1;

/// The largest record that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads the text of the record at `path`, which is `owner`'s; `None` if there is none. Fails if it leads out of the project.
pub(crate) fn read(places: &Places, owner: Owner, path: &Path) -> Result<Option<String>, Error> {
    if paths::leads_out(places, owner, path) {
        return Err(Error::refused(format!("{} leads out of the project", path.display()))
            .hint("it is left alone; replace the link by a directory or a file"));
    }
    let text = read_file(path, MAX_BYTES)?.map(String::from_utf8).transpose();
    text.map_err(|error| Error::refused(format!("{} is not UTF-8", path.display())).because(error))
}

/// Parses the text of a record.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Box<dyn std::error::Error + Send + Sync>> {
    let record: serde_json::Value = serde_json::from_str(text)?;
    match record["version"].as_u64() {
        Some(version) if version != u64::from(VERSION) => {
            Err(format!("version {version} is not known").into())
        }
        _ => Ok(serde_json::from_value(record)?),
    }
}

/// Returns the step that writes `record` to `path`, or removes the file if there is nothing to record; `None` if nothing changes. `before`
/// is the text as it was read.
pub(crate) fn step(
    path: PathBuf,
    record: Option<&impl Serialize>,
    before: Option<&str>,
) -> Result<Option<PathStep>, Error> {
    let text = record.map(serde_json::to_string_pretty).transpose();
    let after = text.map_err(|error| Error::io("write", &path, error.into()))?.map(|text| text + "\n");
    let before = before.map(str::to_owned);
    Ok((before != after).then_some(PathStep::Record(FileStep { path, before, after })))
}
