//! Replaces a file in one step, so that nobody ever reads half of it.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use crate::error::CliError;
use crate::regular_file;

/// The largest file that is replaced, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Makes the file at `path`, which is no link, hold `after`, if it still holds `before`; `None` is a file that is not
/// there yet. Its permissions stay.
pub(crate) fn replace(path: &Path, before: Option<&[u8]>, after: &[u8]) -> Result<(), CliError> {
    let failed = |error| CliError::io("write", path, error);
    let found = match regular_file::read(path, MAX_BYTES) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if found.as_deref() != before {
        return Err(CliError::no(format!("{} was changed meanwhile", path.display())).hint("run it again"));
    }
    let permissions = match found {
        Some(_) => Some(fs::metadata(path).map_err(failed)?.permissions()),
        None => None,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let outcome = (|| {
        let mut file = create(&temporary, permissions)?;
        file.write_all(after)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    outcome.map_err(|error| {
        // The temporary file is of no use to anyone; that it cannot be removed is not worth a second error.
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

/// Makes the file at `path`; what nobody else may read is never readable by them, not even for a moment.
fn create(path: &Path, permissions: Option<fs::Permissions>) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    let Some(permissions) = permissions else { return options.open(path) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        options.mode(0o600);
    }
    let file = options.open(path)?;
    file.set_permissions(permissions)?;
    Ok(file)
}
