//! Positions in a schema or in arguments.

use serde_json::Value;

/// Returns the place of the property `name` of the value at `place`.
pub(super) fn property(place: &str, name: &str) -> String {
    let name = crate::text::shorten(&crate::text::visible_line(name), 80);
    if place.is_empty() { name } else { format!("{place}.{name}") }
}

/// Returns the place of the item `index` of the value at `place`.
pub(super) fn item(place: &str, index: usize) -> String {
    format!("{place}[{index}]")
}

/// Returns the target of the reference `pointer`, as in `#/$defs/x`, in `root`.
pub(super) fn resolve<'s>(root: &'s Value, pointer: &str) -> Option<&'s Value> {
    match pointer.strip_prefix('#')? {
        "" => Some(root),
        path => root.pointer(path),
    }
}
