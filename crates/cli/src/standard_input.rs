//! Reads texts that are given on standard input in place of an argument.

use std::io::Read as _;

use crate::error::CliError;

/// The most bytes that are read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Returns what standard input says, without the blanks around it; `what` names it where it cannot be read.
///
/// What is no UTF-8 is replaced, and what is too long is cut off: any text can be asked for.
pub(crate) fn read_text(what: &str) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| {
        CliError::usage(format!("cannot read the {what} from standard input")).because(error)
    })?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}
