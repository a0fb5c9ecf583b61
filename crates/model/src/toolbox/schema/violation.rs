//! Violations of a schema.

use std::fmt;

use serde_json::Value;

pub(super) const MAX_VIOLATIONS: usize = 10;

/// Something in a value that its schema does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The position: `paths[0].name`; empty for the whole.
    pub place: String,
    /// The message, as `must be a string`.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.message),
            place => write!(f, "`{place}` {}", self.message),
        }
    }
}

/// The violations found so far, a bounded number of them.
#[derive(Default)]
pub(super) struct Violations {
    pub(super) violations: Vec<Violation>,
}

impl Violations {
    /// Adds a violation, if there is room.
    pub(super) fn add(&mut self, place: &str, message: impl Into<String>) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(Violation { place: place.to_owned(), message: message.into() });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.violations.is_empty()
    }
}

pub(super) fn property(place: &str, name: &str) -> String {
    let name = crate::text::shorten(&crate::text::visible_line(name), 80);
    if place.is_empty() { name } else { format!("{place}.{name}") }
}

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
