//! Types and functions that the editors of all formats share.

/// An error that keeps a file from being edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditFault {
    /// The error, in lower case.
    pub message: String,
    /// The line, counted from 1.
    pub line: Option<usize>,
}

impl EditFault {
    /// Returns the fault about the byte at `offset` of `text`.
    pub(super) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        Self { message: message.into(), line: Some(before.matches('\n').count() + 1) }
    }

    /// Returns a fault about the file as a whole.
    pub(crate) fn of(message: impl Into<String>) -> Self {
        Self { message: message.into(), line: None }
    }

    /// Returns the fault about an entry that is not there.
    pub(super) fn missing(spot: Spot<'_>) -> Self {
        Self::of(format!("there is no `{}.{}`", spot.table, spot.name))
    }
}

/// The entry `name` of the table `table`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot<'a> {
    /// The name of the table.
    pub table: &'a str,
    /// The name of the entry.
    pub name: &'a str,
}

/// The byte order mark, with which some editors mark a file as UTF-8.
const BOM: &str = "\u{feff}";

/// Returns the byte order mark, or nothing, and the text behind it.
pub(super) fn split_bom(text: &str) -> (&str, &str) {
    text.strip_prefix(BOM).map_or(("", text), |body| (BOM, body))
}

/// Returns the line ends of `text`.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(index) if text[..index].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |index| index + 1)
}

/// Returns the offset after the line that `offset` is on, line end included.
pub(super) fn line_end(text: &str, offset: usize) -> usize {
    text[offset..].find('\n').map_or(text.len(), |index| offset + index + 1)
}
