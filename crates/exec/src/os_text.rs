//! Serialization of paths and command arguments as JSON: they need not be UTF-8.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An `OsString` as JSON: a string if it is UTF-8, else an array of bytes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OsText {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&OsStr> for OsText {
    fn from(text: &OsStr) -> Self {
        text.to_str()
            .map_or_else(|| Self::Bytes(text.as_bytes().to_vec()), |text| Self::Text(text.to_owned()))
    }
}

impl From<OsText> for OsString {
    fn from(text: OsText) -> Self {
        match text {
            OsText::Text(text) => text.into(),
            OsText::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

/// Serialization of a path.
pub(crate) mod os_path {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        OsText::from(path.as_os_str()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        OsText::deserialize(deserializer).map(|text| OsString::from(text).into())
    }
}

/// Serialization of the words of a command.
pub(crate) mod os_words {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(words: &[OsString], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(words.iter().map(|word| OsText::from(word.as_os_str())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OsString>, D::Error> {
        Vec::<OsText>::deserialize(deserializer).map(|words| words.into_iter().map(OsString::from).collect())
    }
}
