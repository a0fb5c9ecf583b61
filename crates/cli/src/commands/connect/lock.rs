//! Keeps processes that connect at the same time from overwriting each other's entries.

use std::fs::File;

use repertoire_clients::{Owner, Places};

/// Waits until no other process writes configurations of `owner`, and locks them until the result is dropped.
///
/// It locks the home or the project directory itself, so nothing is left behind. Where that is not supported, nothing is locked: then
/// a file that was changed meanwhile is an error.
pub(super) fn lock(places: &Places, owner: Owner) -> Option<File> {
    let directory = File::open(places.base(owner)?).ok()?;
    directory.lock().ok()?;
    Some(directory)
}
