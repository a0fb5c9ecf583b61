//! `markdown`: a heading, how to load a skill, and a list with bold names.

use super::layout::{Frame, Layout, push_after_colon, push_end};
use crate::catalog::entry::Item;

pub(super) struct Markdown;

impl Layout for Markdown {
    fn open(&self, out: &mut String, frame: &Frame<'_>) {
        out.push_str("## Available Skills\n\n");
        if frame.usage().is_none() {
            let load = &frame.options.tool_name;
            out.push_str(&format!(
                "Call `{load}` with the name of a skill to load its full instructions.\n\n"
            ));
        }
    }

    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>) {
        out.push_str(&format!("- **{}**", item.name));
        out.push_str(if item.primary { " (primary)" } else { "" });
        push_after_colon(out, description);
    }

    fn close(&self, out: &mut String, frame: &Frame<'_>, note: Option<&str>) {
        push_end(out, frame, note);
    }
}
