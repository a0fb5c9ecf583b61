//! `compat`: what `skills-ref to-prompt` prints, byte for byte if a description has one line and a location
//! is harmless. The reference library escapes names and descriptions as HTML, but not locations.

use super::layout::{Frame, Layout, push_note};
use crate::catalog::entry::Item;
use crate::escape::push_html;
use crate::text::is_invisible;

pub(super) struct Compat;

impl Layout for Compat {
    fn open(&self, out: &mut String, _: &Frame<'_>) {
        out.push_str("<available_skills>\n");
    }

    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>) {
        out.push_str(if item.primary { "<skill primary=\"true\">\n<name>\n" } else { "<skill>\n<name>\n" });
        push_html(out, &item.name);
        out.push_str("\n</name>\n");
        if let Some(description) = description {
            out.push_str("<description>\n");
            push_html(out, description);
            out.push_str("\n</description>\n");
        }
        if let Some(location) = item.location {
            out.push_str("<location>\n");
            push_location(out, location);
            out.push_str("\n</location>\n");
        }
        out.push_str("</skill>");
    }

    fn name(&self, out: &mut String, item: &Item<'_>) {
        push_html(out, &item.name);
    }

    fn close(&self, out: &mut String, _: &Frame<'_>, note: Option<&str>) {
        out.push_str("</available_skills>\n");
        push_note(out, note);
    }
}

/// Writes `location` as it is, unless it could be mistaken for markup.
///
/// One with angle brackets is escaped as HTML, and what breaks lines or cannot be seen is percent-encoded.
fn push_location(out: &mut String, location: &str) {
    let harmless = |c: char| !matches!(c, '<' | '>') && !is_encoded(c);
    if location.chars().all(harmless) {
        out.push_str(location);
        return;
    }
    let mut encoded = String::with_capacity(location.len() * 2);
    let mut buffer = [0; 4];
    for c in location.chars() {
        if is_encoded(c) {
            for byte in c.encode_utf8(&mut buffer).bytes() {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        } else {
            encoded.push(c);
        }
    }
    push_html(out, &encoded);
}

fn is_encoded(c: char) -> bool {
    !matches!(c, ' '..='~') && (c.is_control() || c.is_whitespace() || is_invisible(c))
}
