//! The trait that every catalog format implements: how to begin, how to write one skill, and how to end.

use crate::catalog::entry::Item;
use crate::catalog::options::CatalogOptions;
use crate::escape::tool_call;

/// A format.
///
/// The page puts a line break after every entry and takes the one at the very end away, so `open` leaves the
/// cursor at the start of a line and `close` finds it there.
pub(super) trait Layout {
    /// Writes what stands before the entries.
    fn open(&self, out: &mut String, frame: &Frame<'_>);

    /// Writes one skill on as many lines as every skill has, without the line break at its end.
    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>);

    /// Writes the name of a skill that stands with others in one line.
    fn name(&self, out: &mut String, item: &Item<'_>) {
        out.push_str(&item.name);
    }

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

impl Frame<'_> {
    /// Returns how to load a skill and what to do if none matches, if the host wants it and there are skills.
    ///
    /// They stand behind the entries: a small model acts on what it read last.
    pub(super) fn usage(&self) -> Option<String> {
        let CatalogOptions { tool_name, name_argument, usage, .. } = self.options;
        let call = tool_call(tool_name, name_argument, self.example.filter(|_| *usage)?);
        Some(format!(
            "If the task matches a skill, load it first: {call}. If no skill matches, answer directly without this call."
        ))
    }
}

/// Writes the sentences on how to load a skill and `note`, each as a paragraph of its own.
pub(super) fn push_end(out: &mut String, frame: &Frame<'_>, note: Option<&str>) {
    if let Some(usage) = frame.usage() {
        out.push_str(&format!("\n{usage}\n"));
    }
    push_note(out, note);
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

/// Writes `: description`, or nothing where there is not one.
pub(super) fn push_after_colon(out: &mut String, description: Option<&str>) {
    if let Some(description) = description {
        out.push_str(": ");
        out.push_str(description);
    }
}
