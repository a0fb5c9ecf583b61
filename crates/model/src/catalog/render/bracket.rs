//! `bracket`: a bracketed title, bullets with the name as code, and a closing line on how to load one.

use super::layout::{Frame, Layout, push_note};
use crate::catalog::entry::Item;
use crate::catalog::options::CatalogOptions;
use crate::escape::push_code;

/// The line against agents that start without a look at their skills.
const REMINDER: &str = "Always check available skills before starting a complex task.\n";

pub(super) struct Bracket;

impl Layout for Bracket {
    fn open(&self, out: &mut String, _: &Frame<'_>) {
        out.push_str("[Available Skills]\n");
    }

    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>) {
        out.push_str("• ");
        push_code(out, &item.name);
        if item.primary {
            out.push_str(" (primary)");
        }
        if let Some(description) = description {
            out.push_str(" — ");
            out.push_str(description);
        }
    }

    fn close(&self, out: &mut String, frame: &Frame<'_>, note: Option<&str>) {
        let CatalogOptions { tool_name, name_argument, .. } = frame.options;
        let usual = || format!("Use {tool_name}({name_argument}) to load full instructions.");
        out.push_str(&format!("\n{}\n", frame.usage().unwrap_or_else(usual)));
        out.push_str(REMINDER);
        push_note(out, note);
    }
}
