//! How far a scan goes.

use std::path::PathBuf;

/// How deep below the root skills are looked for unless said otherwise: `root/skill/SKILL.md`.
pub const DEFAULT_DEPTH: usize = 1;
/// The deepest that skills are looked for.
pub const MAX_DEPTH: usize = 6;
/// The most directories that are looked at unless said otherwise.
pub const DEFAULT_DIRECTORIES: usize = 100_000;
/// The most directory entries that are read unless said otherwise.
pub const DEFAULT_ENTRIES: usize = 1_000_000;

/// How far a scan for skills goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanLimits {
    /// How many levels below the root skills are looked for; more than [`MAX_DEPTH`] counts as that.
    pub max_depth: usize,
    /// The most directories that are looked at.
    pub max_directories: usize,
    /// The most entries that are read of any one directory, and of all of them before the last level.
    pub max_entries: usize,
    /// Whether skills inside other skills are looked for.
    pub nested: bool,
}

impl Default for ScanLimits {
    fn default() -> Self {
        Self {
            max_depth: DEFAULT_DEPTH,
            max_directories: DEFAULT_DIRECTORIES,
            max_entries: DEFAULT_ENTRIES,
            nested: false,
        }
    }
}

/// Where a symbolic link directly below a root may lead; links further down are never followed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LinkScope {
    /// To any directory.
    #[default]
    Anywhere,
    /// Into the root itself or into one of these directories, links resolved; what leads elsewhere is reported.
    Within(Vec<PathBuf>),
}

/// Directories that hold no skills but may hold very many files.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Returns whether a scan leaves out entries called `name`.
pub(super) fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || SKIPPED.contains(&name)
}
