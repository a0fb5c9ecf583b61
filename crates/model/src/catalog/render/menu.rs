//! `menu`: a header that names the tool, and the only format that marks loaded skills.

use super::layout::{Frame, Layout, push_after_colon, push_note};
use crate::catalog::entry::Item;
use crate::text::unmarked;

const LOADED: &str = " [loaded]";

pub(super) struct Menu;

impl Layout for Menu {
    fn open(&self, out: &mut String, frame: &Frame<'_>) {
        out.push_str("Available skills (use ");
        out.push_str(&frame.options.tool_name);
        out.push_str(" to activate):\n\n");
    }

    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>) {
        out.push_str("- ");
        out.push_str(&item.name);
        if item.primary {
            out.push_str(" (primary)");
        }
        push_after_colon(
            out,
            description.map(|text| unmarked(text, LOADED)).filter(|description| !description.is_empty()),
        );
        if item.loaded {
            out.push_str(LOADED);
        }
    }

    fn close(&self, out: &mut String, _: &Frame<'_>, note: Option<&str>) {
        push_note(out, note);
    }
}
