//! `--baseline`: the findings that a project has for now, one on each line of a text.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use repertoire::change::{FileKind, replace_file};
use repertoire::regular_file;

use super::findings::{Findings, line, without_digits};
use crate::error::CliError;

/// The largest baseline, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Removes the findings that the file at `path` lists from `findings`.
pub(super) fn apply(path: &Path, findings: &mut Findings<'_>) -> Result<(), CliError> {
    let bytes = regular_file::read(path, MAX_BYTES).map_err(|error| {
        let message = format!("the baseline {} cannot be read", path.display());
        CliError::usage(message).because(error).hint("`--write-baseline` beside `--baseline` writes it")
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let mut known: HashMap<String, usize> = HashMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        *known.entry(without_digits(line)).or_default() += 1;
    }
    findings.retain_new(|line| match known.get_mut(&without_digits(line)) {
        Some(number @ 1..) => {
            *number -= 1;
            false
        }
        _ => true,
    });
    Ok(())
}

/// Writes `findings` to the file at `path`, sorted, and returns their number.
pub(super) fn write(path: &Path, findings: &Findings<'_>) -> Result<usize, CliError> {
    let mut lines: Vec<String> = findings.placed().iter().map(|it| line(&it.path, it.found) + "\n").collect();
    lines.sort();
    let before = match regular_file::read(path, MAX_BYTES) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(CliError::io("read", path, error)),
    };
    replace_file(path, FileKind::User { before: before.as_deref() }, Some(lines.concat().as_bytes()))?;
    Ok(lines.len())
}
