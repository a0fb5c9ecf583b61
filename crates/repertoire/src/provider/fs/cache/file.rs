//! The file a cache lies in.

use std::io;
use std::path::{Path, PathBuf};

use repertoire_model::Digest;

use super::super::safe_dir::SafeDir;
use super::Cache;
use crate::stored;

/// The largest cache that is read or written, in bytes.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// How many hexadecimal digits of the key's digest name the file; the whole key is inside.
const NAME_DIGITS: usize = 32;

/// The file of one cache.
#[derive(Debug)]
pub(crate) struct CacheFile {
    directory: PathBuf,
    name: String,
    key: String,
}

impl CacheFile {
    /// Returns the file for `key` in `directory`; neither need exist.
    pub(crate) fn new(directory: &Path, key: String) -> Self {
        let mut name = Digest::of(key.as_bytes()).to_hex();
        name.truncate(NAME_DIGITS);
        name.push_str(".skills");
        Self { directory: directory.to_owned(), name, key }
    }

    /// Returns what the cache depends on.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Reads the cache, if it is there and whole.
    pub(crate) fn load(&self) -> Option<Cache> {
        let mut bytes = Vec::new();
        SafeDir::open(&self.directory).ok()?.read(&self.name, MAX_BYTES, &mut bytes).ok()?;
        Cache::decode(bytes, &self.key)
    }

    /// Replaces the cache. Whoever reads it meanwhile has the old one.
    pub(crate) fn save(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        stored::replace(&self.directory, &self.name, bytes)
    }
}
