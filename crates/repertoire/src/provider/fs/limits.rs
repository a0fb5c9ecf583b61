//! Limits of a scan for skills.

use std::path::PathBuf;

/// The default number of levels below the root that are searched: skills, groups of skills, and repositories
/// with a directory of skills. Skills are not searched, so deeper levels cost nothing where all are skills.
pub const DEFAULT_DEPTH: usize = 3;
/// The number of levels below a directory that the user names, which may be a repository with plugins:
/// `plugins/plugin/skills/group/skill/SKILL.md`.
pub const GIVEN_DEPTH: usize = 5;
/// The largest number of levels below the root that are searched.
pub const MAX_DEPTH: usize = 10;
/// The default limit of directories that are visited.
pub const DEFAULT_DIRECTORIES: usize = 100_000;
/// The default limit of directory entries that are read.
pub const DEFAULT_ENTRIES: usize = 1_000_000;

repertoire_model::options! {
    /// Limits of a scan for skills.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ScanLimits {
        /// The number of levels below the root that are searched, at most [`MAX_DEPTH`].
        pub max_depth: usize = DEFAULT_DEPTH,
        /// The most directories that are visited.
        pub max_directories: usize = DEFAULT_DIRECTORIES,
        /// The most entries that are read from any one directory, and from all of them before the last level.
        pub max_entries: usize = DEFAULT_ENTRIES,
        /// If true, directories of skills are searched for further skills.
        pub nested: bool,
        /// If true, hidden directories are searched as well, except those of tools that keep no skills there.
        pub hidden: bool,
    }
}

impl ScanLimits {
    /// Returns whether a scan leaves out entries called `name`.
    pub fn skips(&self, name: &str) -> bool {
        (name.starts_with('.') && !self.hidden) || SKIPPED.contains(&name) || name.starts_with(STAGING)
    }
}

/// The directories that links to skills and groups of skills may lead to; links in skills are never followed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LinkScope {
    /// Any directory.
    #[default]
    Anywhere,
    /// The root itself and these directories, with links resolved; links to other places are reported.
    Within(Vec<PathBuf>),
}

/// The start of the names of directories in which new states of skills are built before they are exchanged.
pub(crate) const STAGING: &str = ".rep-staging-";

/// Directories that hold no skills but may hold very many files.
const SKIPPED: [&str; 21] = [
    ".cache",
    ".cargo",
    ".direnv",
    ".git",
    ".gradle",
    ".hg",
    ".jj",
    ".m2",
    ".next",
    ".npm",
    ".nuxt",
    // Copies of skills with conflicts.
    ".repertoire",
    ".rustup",
    ".svn",
    ".terraform",
    ".tox",
    ".trash",
    ".venv",
    ".yarn",
    "node_modules",
    "target",
];
