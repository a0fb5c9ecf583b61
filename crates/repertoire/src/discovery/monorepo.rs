//! Skills of packages below the working directory, which Claude Code reads with files of the package.

use std::fs::{DirEntry, read_dir, symlink_metadata};
use std::path::{Path, PathBuf};

use super::clients::CANONICAL;
use crate::provider::fs::ScanLimits;

/// The directories of a package that hold skills.
const DIRECTORIES: [&str; 2] = [CANONICAL, ".claude/skills"];

/// The number of levels below the working directory that are searched.
const MAX_DEPTH: usize = 3;

/// The most directories that are searched, near ones first, and entries of a level: every command does it.
const MAX_DIRECTORIES: usize = 1_000;
const MAX_ENTRIES: usize = 10_000;

/// Directories of files that no one works on, beside others that are never searched for skills.
pub const GENERATED: [&str; 5] = ["__pycache__", "build", "dist", "vendor", "venv"];

/// Returns the directories of skills in packages below `working_directory` in `repository`, nearest first,
/// each with a label that has its path. Links are not followed, and other repositories are left out.
pub(super) fn package_roots(working_directory: &Path, repository: &Path) -> Vec<(String, PathBuf)> {
    let limits = ScanLimits::default();
    let is_searched = |entry: &DirEntry| {
        let (name, is_directory) = (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
        is_directory && name.to_str().is_some_and(|name| !limits.skips(name) && !GENERATED.contains(&name))
    };
    let (mut roots, mut room, mut level) = (Vec::new(), MAX_DIRECTORIES, vec![working_directory.to_owned()]);
    for _ in 0..MAX_DEPTH {
        let entries = level.iter().flat_map(read_dir).flatten().flatten().take(MAX_ENTRIES);
        level = entries.filter(is_searched).map(|entry| entry.path()).collect();
        level.sort_unstable();
        level.truncate(room);
        room -= level.len();
        level.retain(|directory| symlink_metadata(directory.join(".git")).is_err());
        for package in &level {
            let label =
                package.strip_prefix(repository).unwrap_or(package).to_string_lossy().replace('\\', "/");
            let root = |name: &str| (format!("project:{label}/{name}"), package.join(name));
            roots.extend(DIRECTORIES.map(root).into_iter().filter(|(_, path)| path.is_dir()));
        }
    }
    roots
}
