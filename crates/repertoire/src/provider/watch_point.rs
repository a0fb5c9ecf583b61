//! A directory whose events show changes of a source.

use std::path::PathBuf;

/// A directory whose events show changes of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchPoint {
    /// The directory, links resolved.
    pub directory: PathBuf,
    /// The events that matter.
    pub scope: WatchScope,
}

/// The events in a watched directory that matter. A wider scope includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchScope {
    /// Changes of `SKILL.md`: the directory is a skill, or may become one.
    Manifest,
    /// Entries that come and go as well: the directory holds skills.
    Entries,
    /// Entries of any name, hidden ones included: the directory is on the way to the source.
    Path,
}
