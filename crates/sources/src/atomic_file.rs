//! Replaces small files all at once.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use repertoire::regular_file;

use crate::Error;

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
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    write_new(path, parent, bytes, File::sync_all).map_err(failed)?;
    if cfg!(unix) {
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
    }
    Ok(())
}

/// Makes the file at `path` hold `bytes`. A crash of the program leaves the old file or the new one, but a power failure may leave a file
/// without content.
pub(crate) fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(parent).and_then(|()| write_new(path, parent, bytes, |_| Ok(())));
    written.map_err(|error| Error::io("write", path, error))
}

fn write_new(
    path: &Path,
    parent: &Path,
    bytes: &[u8],
    sync: impl Fn(&File) -> io::Result<()>,
) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A random name: processes in containers that share the directory may have the same number.
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    let permissions = fs::metadata(path).map(|metadata| metadata.permissions());
    #[cfg(unix)]
    if permissions.is_err() {
        use std::os::unix::fs::PermissionsExt as _;

        // As any new file has them; the system takes away what the user does not want.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(parent)?;
    if let Ok(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.write_all(bytes)?;
    sync(file.as_file())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
