//! `menu`: a header that names the tool, and the only format that marks loaded skills.

use super::layout::{Frame, Layout, push_after_colon, push_end};
use crate::catalog::entry::Item;
use crate::text::unmarked;

const LOADED: &str = " [loaded]";

pub(super) struct Menu;

impl Layout for Menu {
    fn open(&self, out: &mut String, frame: &Frame<'_>) {
        out.push_str(&format!("Available skills (use {} to activate):\n\n", frame.options.tool_name));
    }

    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>) {
        out.push_str("- ");
        out.push_str(&item.name);
        out.push_str(if item.primary { " (primary)" } else { "" });
        push_after_colon(
            out,
            description.map(|text| unmarked(text, LOADED)).filter(|description| !description.is_empty()),
        );
        out.push_str(if item.loaded { LOADED } else { "" });
    }

    fn name(&self, out: &mut String, item: &Item<'_>) {
        out.push_str(&item.name);
        out.push_str(if item.loaded { LOADED } else { "" });
    }

    fn close(&self, out: &mut String, frame: &Frame<'_>, note: Option<&str>) {
        push_end(out, frame, note);
    }
}
