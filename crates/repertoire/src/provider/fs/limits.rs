//! How far a scan goes, and how large files may be.

/// How deep below the root skills are looked for unless said otherwise: `root/skill/SKILL.md`.
pub const DEFAULT_DEPTH: usize = 1;
/// The deepest that skills are looked for.
pub const MAX_DEPTH: usize = 6;
/// The most directories that are looked at unless said otherwise.
pub const DEFAULT_DIRECTORIES: usize = 100_000;
/// The most directory entries that are read unless said otherwise.
pub const DEFAULT_ENTRIES: usize = 1_000_000;

/// The largest `SKILL.md`, in bytes.
pub const MANIFEST_BYTES: u64 = 1024 * 1024;
/// The largest file of a skill that is read, in bytes.
pub const FILE_BYTES: u64 = 16 * 1024 * 1024;
/// The largest sum of the files of a skill, in bytes.
pub const BUNDLE_BYTES: u64 = 64 * 1024 * 1024;
/// The most files of a skill that are listed.
pub const FILES: usize = 2_000;
/// The deepest that the files of a skill are listed, in path components.
pub const FILE_DEPTH: usize = 16;
/// The most entries that are looked at to list the files of a skill, hidden ones and directories included.
pub const FILE_ENTRIES: usize = 20_000;

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

/// How large the files of a skill may be, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCaps {
    /// The largest `SKILL.md`, in bytes.
    pub manifest_bytes: u64,
    /// The largest file, in bytes.
    pub file_bytes: u64,
    /// The largest sum of all files, in bytes.
    pub bundle_bytes: u64,
    /// The most files that are listed.
    pub files: usize,
    /// The deepest that files are listed, in path components.
    pub depth: usize,
}

impl Default for FileCaps {
    fn default() -> Self {
        Self {
            manifest_bytes: MANIFEST_BYTES,
            file_bytes: FILE_BYTES,
            bundle_bytes: BUNDLE_BYTES,
            files: FILES,
            depth: FILE_DEPTH,
        }
    }
}
