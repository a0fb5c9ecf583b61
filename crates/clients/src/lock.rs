//! Keeps processes that change files of clients at the same time from overwriting each other's changes.

use std::fs::File;
use std::path::Path;

/// Waits until no other process changes files of clients in `base`, a home or a project, and locks it until the result is dropped.
///
/// It locks the directory itself, so nothing is left behind. Where that is not supported, nothing is locked: then a file that was
/// changed meanwhile is an error.
pub fn lock(base: &Path) -> Option<File> {
    File::open(base).ok().filter(|directory| directory.lock().is_ok())
}
