//! Replaces small files all at once.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use repertoire::regular_file;

use crate::Error;

/// Distinguishes the temporary files that one process makes.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Returns the bytes of the file at `path`, or `None` if there is none.
pub(crate) fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Error> {
    match regular_file::read(path, most) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

/// Makes the file at `path` hold `bytes`, or removes it for `None`. A crash leaves the old file or the new one.
pub(crate) fn write(path: &Path, bytes: Option<&[u8]>) -> Result<(), Error> {
    let failed = |error| Error::io("write", path, error);
    // A link stays a link; the file that it leads to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(bytes) = bytes else {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
            _ => Ok(()),
        };
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
    let outcome = write_new(&temporary, bytes, path).and_then(|()| fs::rename(&temporary, path));
    if outcome.is_err() {
        // A temporary file that cannot be removed is not worth a second error.
        let _ = fs::remove_file(&temporary);
    }
    outcome.map_err(failed)?;
    if let (true, Some(parent)) = (cfg!(unix), path.parent()) {
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
    }
    Ok(())
}

fn write_new(temporary: &Path, bytes: &[u8], replaced: &Path) -> io::Result<()> {
    let _ = fs::remove_file(temporary);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(temporary)?;
    if let Ok(metadata) = fs::metadata(replaced) {
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}
