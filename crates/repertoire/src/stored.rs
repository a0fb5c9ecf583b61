//! Files that only this program reads and writes, replaced as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells apart what this process writes at the same time.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Replaces the file `name` of `directory`. Whoever reads it meanwhile has the old one or the new one.
pub(crate) fn replace(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = directory.join(format!(".{name}.{}-{number}.tmp", std::process::id()));
    let written = create(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, directory.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Creates a file that only its owner may read: descriptions may be private.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns the file at `path`, if it is there and at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(limit as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= limit).then_some(bytes)
}
