//! Records of what this program made, so that it can be undone, and of what its user chose.
//!
//! Each is a JSON file with its kind, the version of the format, and its entries. Those of a user lie in the
//! state directory, those of a project below `.agents`, because they belong to links that may be committed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::change::{FileKind, FileStep, PathStep, replace_file};
use crate::{Error, ErrorKind, regular_file};

/// The version of the format. In version 1 each kind had a format of its own.
const VERSION: u64 = 2;

/// The largest record that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The cause for which a record cannot be read.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// The links and copies that clients read skills from.
    Links,
    /// The copies of skills that were gathered in one place.
    Adopted,
    /// The links and switches of clients that were changed to disable skills.
    Disabled,
    /// The kits that are in use in each project.
    Kits,
    /// The approvals of skills.
    Approvals,
    /// The changes that were carried out, so that they can be taken back.
    Changes,
}

impl RecordKind {
    /// Returns the name of its file in the state directory.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Links => "links.json",
            Self::Adopted => "adopted.json",
            Self::Disabled => "disabled.json",
            Self::Kits => "kits.json",
            Self::Approvals => "approvals.json",
            Self::Changes => "changes.json",
        }
    }

    fn as_str(self) -> &'static str {
        self.file_name().trim_end_matches(".json")
    }
}

/// The place of a record.
#[derive(Debug, Clone)]
pub struct RecordPlace {
    /// The kind of the record.
    pub kind: RecordKind,
    /// The path of the file.
    pub path: PathBuf,
    /// The path that earlier versions used, if it was another. It is read if there is no file at `path`, and
    /// removed by the next change.
    pub former: Option<PathBuf>,
}

impl RecordPlace {
    /// Returns the place of a user's record in the state directory `state`.
    pub fn of_user(kind: RecordKind, state: &Path) -> Self {
        Self { kind, path: state.join(kind.file_name()), former: None }
    }

    /// Returns the place of the record of the project in `base`, which may come from a cloned repository.
    pub fn of_project(kind: RecordKind, base: &Path) -> Self {
        let path = base.join(".agents").join(format!(".repertoire-{}", kind.file_name()));
        Self { kind, path, former: None }
    }
}

/// The entries of a record, as they were read and changed since.
#[derive(Debug)]
pub struct Record<T> {
    /// The entries.
    pub entries: T,
    place: RecordPlace,
    /// The file that they were read from, with its text.
    file: Option<(PathBuf, String)>,
}

impl<T: Default + DeserializeOwned> Record<T> {
    /// Reads the record at `place`; without a file it has no entries.
    ///
    /// Fails with [`ErrorKind::Record`] if the file cannot be read, or a newer version wrote it.
    pub fn read(place: &RecordPlace) -> Result<Self, Error> {
        for path in [Some(&place.path), place.former.as_ref()].into_iter().flatten() {
            let unreadable = |error| Error::new(ErrorKind::Record).at(path).because(error);
            if let Some(text) = read_text(path).map_err(unreadable)? {
                let entries = parse(place.kind, &text).map_err(unreadable)?;
                return Ok(Self { entries, place: place.clone(), file: Some((path.clone(), text)) });
            }
        }
        Ok(Self { entries: T::default(), place: place.clone(), file: None })
    }
}

impl<T: Default + PartialEq + Serialize + DeserializeOwned> Record<T> {
    /// Changes the entries of the record at `place` while other processes wait.
    pub fn change(place: &RecordPlace, change: impl FnOnce(&mut T)) -> Result<(), Error> {
        let lock = place.path.with_extension("lock");
        let failed = |error| Error::io("write", &lock, error);
        fs::create_dir_all(lock.parent().unwrap_or(&lock)).map_err(failed)?;
        let file = File::options().create(true).write(true).truncate(false).open(&lock).map_err(failed)?;
        file.lock().map_err(failed)?;
        let mut record = Self::read(place)?;
        change(&mut record.entries);
        // Dropping `file` releases the lock.
        record.files()?.iter().try_for_each(|FileStep { path, after, .. }| {
            replace_file(path, FileKind::PrivateRecord, after.as_deref().map(str::as_bytes))
        })
    }

    /// Returns the steps of a change that write the entries, none if they are as they were read. A record
    /// without entries has no file.
    pub fn steps(&self) -> Result<impl Iterator<Item = PathStep>, Error> {
        Ok(self.files()?.into_iter().map(PathStep::Record))
    }

    /// Returns the files that change. The new one comes first, so that one of them is there at any time.
    fn files(&self) -> Result<Vec<FileStep>, Error> {
        let RecordPlace { kind, path, .. } = &self.place;
        let before = self.file.as_ref().and_then(|(_, text)| parse(*kind, text).ok());
        if self.entries == before.unwrap_or_default() {
            return Ok(Vec::new());
        }
        let entries = serde_json::to_value(&self.entries).map_err(|error| Error::io("write", path, error))?;
        let record = json!({"kind": kind.as_str(), "version": VERSION, "entries": entries});
        let after = (self.entries != T::default()).then(|| format!("{record:#}\n"));
        let file = |before| FileStep { path: path.clone(), before, after };
        Ok(match self.file.clone() {
            Some((former, text)) if former != *path => {
                vec![file(None), FileStep { path: former, before: Some(text), after: None }]
            }
            read => vec![file(read.map(|(_, text)| text))],
        })
    }
}

/// Returns the text of the file at `path`; `None` if there is not one.
fn read_text(path: &Path) -> Result<Option<String>, Cause> {
    match regular_file::read(path, MAX_BYTES) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        bytes => Ok(Some(String::from_utf8(bytes?)?)),
    }
}

fn parse<T: DeserializeOwned>(kind: RecordKind, text: &str) -> Result<T, Cause> {
    let mut record: Value = serde_json::from_str(text)?;
    let kind_word = kind.as_str();
    let entries = match record["version"].as_u64() {
        Some(1) if kind == RecordKind::Kits => record.get_mut("projects"),
        Some(1) => record.get_mut(kind_word),
        Some(VERSION) if record["kind"] == kind_word => record.get_mut("entries"),
        Some(version) if version > VERSION => {
            return Err(format!("a newer `rep` wrote it, in version {version} of the format").into());
        }
        _ => None,
    };
    let entries = entries.ok_or_else(|| format!("it is not a record of the kind `{kind_word}`"))?;
    Ok(serde_json::from_value(entries.take())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Links = Record<Vec<String>>;

    /// Returns a state directory, and the place of a record that earlier versions kept beside it.
    fn moved() -> (tempfile::TempDir, RecordPlace) {
        let directory = tempfile::tempdir().unwrap();
        let former = RecordPlace::of_project(RecordKind::Links, directory.path()).path;
        let place = RecordPlace::of_user(RecordKind::Links, &directory.path().join("state"));
        fs::create_dir(former.parent().unwrap()).unwrap();
        (directory, RecordPlace { former: Some(former), ..place })
    }

    fn text(path: &Path) -> Option<String> {
        read_text(path).unwrap()
    }

    #[test]
    fn a_record_of_version_1_is_read_and_rewritten() {
        let (_directory, place) = moved();
        let former = place.former.clone().unwrap();
        fs::write(&former, r#"{"version": 1, "links": ["a"]}"#).unwrap();
        assert_eq!(Links::read(&place).unwrap().entries, ["a"]);
        // Without a change of the entries nothing is written.
        Links::change(&place, |_| ()).unwrap();
        assert!(text(&former).is_some() && text(&place.path).is_none());
        Links::change(&place, |links| links.push("b".to_owned())).unwrap();
        let expect = r#"{ "kind": "links", "version": 2, "entries": [ "a", "b" ] }"#;
        let found = text(&place.path).unwrap();
        assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), expect);
        assert_eq!(text(&former), None);
        // As if the program had been killed between the two files, or an earlier version had run since.
        fs::write(&former, r#"{"version": 1, "links": ["c"]}"#).unwrap();
        assert_eq!(Links::read(&place).unwrap().entries, ["a", "b"]);
        Links::change(&place, Vec::clear).unwrap();
        assert_eq!(text(&place.path), None);
    }

    #[test]
    fn a_record_that_cannot_be_understood_is_left_alone() {
        let (_directory, place) = moved();
        let former = place.former.clone().unwrap();
        for (bad, why) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("[]", "it is not a record of the kind `links`"),
            (r#"{"version": 1}"#, "it is not a record of the kind `links`"),
            (r#"{"version": 2, "kind": "kits", "entries": []}"#, "it is not a record of the kind `links`"),
            (
                r#"{"version": 2, "kind": "links", "entries": 1}"#,
                "invalid type: integer `1`, expected a sequence",
            ),
            (r#"{"version": 3, "kind": "links"}"#, "a newer `rep` wrote it, in version 3 of the format"),
        ] {
            for path in [&former, &place.path] {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bad).unwrap();
                let error = Links::change(&place, |links| links.push("a".to_owned())).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Record, "{bad}");
                assert_eq!(error.chain(), format!("cannot read the record {}: {why}", path.display()));
                assert_eq!(text(path).as_deref(), Some(bad));
            }
            fs::remove_file(&place.path).unwrap();
        }
    }
}
