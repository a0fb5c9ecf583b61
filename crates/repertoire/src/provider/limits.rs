//! Limits of the files of a skill, for every kind of source.

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
/// The most entries that are read to list the files of a skill, hidden ones and directories included.
pub const FILE_ENTRIES: usize = 20_000;

repertoire_model::options! {
    /// Limits of the size and number of a skill's files.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FileCaps {
        /// The largest `SKILL.md`, in bytes.
        pub manifest_bytes: u64 = MANIFEST_BYTES,
        /// The largest file, in bytes.
        pub file_bytes: u64 = FILE_BYTES,
        /// The largest sum of all files, in bytes.
        pub bundle_bytes: u64 = BUNDLE_BYTES,
        /// The most files that are listed.
        pub files: usize = FILES,
        /// The deepest that files are listed, in path components.
        pub depth: usize = FILE_DEPTH,
    }
}
