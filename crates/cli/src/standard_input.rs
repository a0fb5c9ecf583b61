//! Reads texts that are given on standard input in place of an argument.

use std::io::Read as _;

use crate::error::CliError;

/// The most bytes that are read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Returns the text of standard input, trimmed; `what` names it in errors.
///
/// Invalid UTF-8 is replaced, and a text that is too long is cut between characters: any text is a valid
/// query.
pub(crate) fn read_text(what: &str) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| {
        CliError::usage(format!("cannot read the {what} from standard input")).because(error)
    })?;
    if bytes.len() as u64 == MAX_BYTES {
        bytes.truncate(bytes.len() - cut_short(&bytes));
    }
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Returns the number of bytes at the end that begin an incomplete character.
fn cut_short(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map(|chunk| chunk.invalid()).unwrap_or_default();
    let is_begun = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if is_begun { last.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_character_that_is_cut_is_cut_off() {
        let check = |bytes: &[u8], expected| assert_eq!(cut_short(bytes), expected, "{bytes:?}");
        check(b"", 0);
        check(b"tea", 0);
        check("茶".as_bytes(), 0);
        check(&"茶".as_bytes()[..2], 2);
        check(&"\u{fc}".as_bytes()[..1], 1);
        check(b"tea \xff", 0);
        check(b"\xff\xe8\x8c", 2);
    }
}
