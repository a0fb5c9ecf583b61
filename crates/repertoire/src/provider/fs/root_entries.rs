//! The entries of a root, sorted by their role in a scan.

use super::limits::is_skipped;
use super::manifest;
use super::place::Root;
use super::safe_dir::{Entry, Fault, Kind};

/// The entries of a root that matter to a scan.
#[derive(Debug, Default)]
pub(super) struct RootEntries {
    /// The directories that are searched for skills, sorted.
    pub(super) directories: Vec<String>,
    /// The links that may lead to skills, sorted.
    pub(super) links: Vec<String>,
    pub(super) manifest: RootManifest,
    /// The number of entries of any kind.
    pub(super) count: usize,
    /// The directories whose names are not UTF-8, approximated.
    pub(super) undecoded: Vec<String>,
    /// True if there were more entries than the limit.
    pub(super) more: bool,
}

/// The `SKILL.md` directly below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum RootManifest {
    #[default]
    None,
    /// Spelled differently.
    Respelled,
    /// Spelled exactly so.
    Exact,
}

impl RootEntries {
    /// Lists `root`, at most `limit` entries.
    pub(super) fn list(root: &Root, limit: usize) -> Result<Self, Fault> {
        let entries = root.handle.entries(limit)?;
        let mut sorted = Self { count: entries.entries.len(), more: entries.more, ..Self::default() };
        for Entry { name, decoded, kind } in entries.entries {
            if name == manifest::FILE_NAME {
                sorted.manifest = RootManifest::Exact;
            } else if manifest::is_spelling(&name) && sorted.manifest == RootManifest::None {
                sorted.manifest = RootManifest::Respelled;
            }
            match kind {
                _ if is_skipped(&name) => {}
                Kind::Directory if decoded => sorted.directories.push(name),
                Kind::Directory => sorted.undecoded.push(name),
                Kind::Link if decoded => sorted.links.push(name),
                Kind::Link | Kind::File | Kind::Special => {}
            }
        }
        sorted.directories.sort_unstable();
        sorted.links.sort_unstable();
        Ok(sorted)
    }
}
