//! The skills that a pattern is about.

use repertoire::{Entry, Snapshot};
use repertoire_model::Pattern;

/// Returns the skills of `snapshot` that `pattern` matches.
pub fn matched<'s>(snapshot: &'s Snapshot, pattern: &Pattern) -> Vec<&'s Entry> {
    snapshot.entries().iter().filter(|entry| is_match(pattern, entry)).collect()
}

/// Returns `true` if `pattern` matches `entry`.
pub fn is_match(pattern: &Pattern, entry: &Entry) -> bool {
    pattern.matches(&entry.source, entry.name().as_str())
}
