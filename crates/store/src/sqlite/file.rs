//! The file of a SQLite database.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

use repertoire::{Error, ErrorKind};

/// Makes an empty file at `path`, and the directories above it, if they are missing, for their owner alone.
///
/// SQLite gives the files that it makes beside it the same permissions.
pub(super) fn create(path: &Path) -> Result<(), Error> {
    let error = |error: io::Error| {
        Error::new(ErrorKind::Store).at(path).because(format!("the file cannot be made ({error})"))
    };
    match path.try_exists() {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(failure) => return Err(error(failure)),
    }
    let mut directories = DirBuilder::new();
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        directories.mode(0o700);
        options.mode(0o600);
    }
    if let Some(parent) = path.parent() {
        directories.recursive(true).create(parent).map_err(error)?;
    }
    match options.write(true).create_new(true).open(path) {
        Err(failure) if failure.kind() != io::ErrorKind::AlreadyExists => Err(error(failure)),
        _ => Ok(()),
    }
}

/// The identity of a file: its device and its number there, where the system has them.
pub(super) type FileIdentity = (u64, u64);

/// Returns the identity of the file at `path`; `None` if there is not one.
pub(super) fn identity(path: &Path) -> Option<FileIdentity> {
    let metadata = path.metadata().ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        Some((0, 0))
    }
}
