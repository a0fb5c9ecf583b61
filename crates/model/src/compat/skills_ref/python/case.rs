//! `str.strip` and `str.isalnum`.

use super::tables;

/// Returns `text` without the whitespace around it. Python counts four separators that Unicode does not.
pub(in super::super) fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}

/// Tells whether `c` is a letter or a number in the Unicode 14 of Python 3.11. Combining marks are not.
pub(in super::super) fn is_alnum(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { tables::contains(&tables::ALPHANUMERIC, c) }
}
