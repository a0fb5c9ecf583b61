//! `json`: an object with `skills`, each with `name`, `description` unless it was left out, and `primary`
//! where it is true, in this order; `usage`, how to load one; and `note` where something was left out.

use super::layout::{Frame, Layout};
use crate::catalog::entry::Item;
use crate::escape::push_json;

pub(super) struct Json;

impl Layout for Json {
    fn open(&self, out: &mut String, _: &Frame<'_>) {
        out.push_str("{\"skills\":[\n");
    }

    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>) {
        out.push_str("{\"name\":");
        push_json(out, &item.name);
        if let Some(description) = description {
            out.push_str(",\"description\":");
            push_json(out, description);
        }
        out.push_str(if item.primary { ",\"primary\":true}" } else { "}" });
    }

    fn separator(&self) -> &'static str {
        ","
    }

    fn close(&self, out: &mut String, frame: &Frame<'_>, note: Option<&str>) {
        out.push(']');
        for (key, text) in [("usage", frame.usage().as_deref()), ("note", note)] {
            if let Some(text) = text {
                out.push_str(&format!(",\"{key}\":"));
                push_json(out, text);
            }
        }
        out.push('}');
    }
}
