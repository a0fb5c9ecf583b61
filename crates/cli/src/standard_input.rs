//! Reads texts that are given on standard input in place of an argument.

use std::io::Read as _;

use crate::error::CliError;

/// The most bytes that are read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Returns the text of standard input, trimmed; `what` names it in errors.
///
/// Invalid UTF-8 is replaced, and a text that is too long is cut off: any text is a valid query.
pub(crate) fn read_text(what: &str) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| {
        CliError::usage(format!("cannot read the {what} from standard input")).because(error)
    })?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}
