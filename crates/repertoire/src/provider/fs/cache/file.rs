//! The file a cache lies in.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use repertoire_model::Digest;

use super::super::safe_dir::SafeDir;
use super::Cache;

/// The largest cache that is read or written, in bytes.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// How many hexadecimal digits of the key's digest name the file; the whole key is inside.
const NAME_DIGITS: usize = 32;

/// Tells apart what this process writes at the same time.
static COUNTER: AtomicU64 = AtomicU64::new(0);

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
        fs::create_dir_all(&self.directory)?;
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = self.directory.join(format!(".{}.{}-{number}.tmp", self.name, std::process::id()));
        let written = create(&temporary)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, self.directory.join(&self.name)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// Creates a file that only its owner may read: descriptions may be private.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
