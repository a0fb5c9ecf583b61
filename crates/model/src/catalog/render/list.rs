//! `list`: the tersest index, for orchestrators that start many agents. The primary skill has `*` for a dash.

use super::layout::{Frame, Layout, push_after_colon, push_end};
use crate::catalog::entry::Item;

pub(super) struct List;

impl Layout for List {
    fn open(&self, out: &mut String, _: &Frame<'_>) {
        out.push_str("Skills:\n");
    }

    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>) {
        out.push_str(if item.primary { "* " } else { "- " });
        out.push_str(&item.name);
        push_after_colon(out, description);
    }

    fn close(&self, out: &mut String, frame: &Frame<'_>, note: Option<&str>) {
        push_end(out, frame, note);
    }
}
