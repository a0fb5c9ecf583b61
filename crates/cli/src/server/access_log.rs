//! The access log of an HTTP server.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use repertoire_web::http::AccessLog;

use crate::error::CliError;
use crate::ui::log;
use crate::wire::Workspace;

/// The setting for standard error.
const STDERR: &str = "-";

/// Opens the access log of the configuration, if any. Lines are appended; a file moved away needs a restart.
pub(super) fn open(workspace: &Workspace) -> Result<Option<AccessLog>, CliError> {
    let path = match workspace.settings.http_access_log.as_str() {
        "" => return Ok(None),
        STDERR => return Ok(Some(AccessLog::new(log))),
        path => workspace.env.working_directory().join(path),
    };
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(|error| CliError::io("open", &path, error))?;
    let file = Mutex::new(file);
    Ok(Some(AccessLog::new(move |line| {
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // Requests are answered even if the disk is full.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    })))
}
