//! The trait that every catalog format implements: how to begin, how to write one skill, and how to end.

use crate::catalog::entry::Item;
use crate::catalog::options::CatalogOptions;

/// A format.
///
/// The page puts a line break after every entry and takes the one at the very end away, so `open` leaves the cursor at
/// the start of a line and `close` finds it there.
pub(super) trait Layout {
    /// Writes what stands before the entries.
    fn open(&self, out: &mut String, frame: &Frame<'_>);

    /// Writes one skill on as many lines as every skill has, without the line break at its end.
    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>);

    /// Returns the text between two entries, before the line break.
    fn separator(&self) -> &'static str {
        ""
    }

    /// Writes the text after the entries, with the note about shortened and omitted skills.
    fn close(&self, out: &mut String, frame: &Frame<'_>, note: Option<&str>);
}

/// The options that the text around the entries depends on.
pub(super) struct Frame<'a> {
    /// The choices of the host.
    pub(super) options: &'a CatalogOptions,
    /// A skill that is listed, to show by example how one is loaded.
    pub(super) example: Option<&'a str>,
}

/// Writes `note` as a paragraph of its own.
pub(super) fn push_note(out: &mut String, note: Option<&str>) {
    if let Some(note) = note {
        if !out.ends_with("\n\n") {
            out.push('\n');
        }
        out.push_str(note);
    }
}

/// Writes `: description`, or nothing where there is none.
pub(super) fn push_after_colon(out: &mut String, description: Option<&str>) {
    if let Some(description) = description {
        out.push_str(": ");
        out.push_str(description);
    }
}
