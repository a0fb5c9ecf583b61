//! The file a cache lies in.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use repertoire_model::Digest;

use super::super::safe_dir::SafeDir;
use super::Cache;
use super::head::Head;
use crate::stored;

/// The largest cache that is read or written, in bytes.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// How many hexadecimal digits of the key's digest name the file; the whole key is inside.
const NAME_DIGITS: usize = 32;

/// How the names of caches end.
const SUFFIX: &str = ".skills";

/// The most caches that are kept; those written last are.
const MAX_FILES: usize = 64;

/// How old a file must be to have been left behind by a process that ended while writing it.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

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
        name.push_str(SUFFIX);
        Self { directory: directory.to_owned(), name, key }
    }

    /// Returns what the cache depends on.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Reads the cache, if it is there and whole.
    pub(crate) fn load(&self) -> Option<Cache> {
        let directory = SafeDir::open(&self.directory).ok()?;
        let (mut file, stamp) = directory.open_file(&self.name).ok()?;
        if stamp.size > MAX_BYTES {
            return None;
        }
        let mut head = [0; Head::BYTES];
        file.read_exact(&mut head).ok()?;
        let head = Head::decode(head, stamp.size)?;
        let blocks = || {
            // A handle of its own has a position of its own; what replaced the file meanwhile is another cache.
            let (mut file, _) = directory.open_file(&self.name).ok().filter(|(_, again)| *again == stamp)?;
            file.seek(SeekFrom::Start(head.blocks_start()?)).ok()?;
            exactly(&mut file, head.blocks_bytes)
        };
        Cache::assemble(&head, || exactly(&mut file, head.index_bytes), blocks, &self.key)
    }

    /// Replaces the cache. Whoever reads it meanwhile has the old one.
    pub(crate) fn save(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        stored::replace(&self.directory, &self.name, bytes)?;
        stored::prune(&self.directory, SUFFIX, MAX_FILES, STALE);
        Ok(())
    }
}

/// Reads the next `length` bytes of `file`; its size is known to allow for them.
fn exactly(file: &mut File, length: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(length).ok()?);
    file.take(length).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length).then_some(bytes)
}
