//! Removes the temporary files of writers that were killed, and files that are too many.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The most entries of a directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The end of the names of temporary files; those of other programs have another.
pub(super) const TEMPORARY_SUFFIX: &str = ".rep.tmp";

/// The age at which a temporary file has no writer any more, where writers do not lock them.
const STALE: Duration = Duration::from_secs(60 * 60);

/// Removes the temporary files for the file at `path` whose writer was killed. One that stays is harmless.
pub fn remove_leftovers(path: &Path) {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return;
    };
    for entry in fs::read_dir(directory).into_iter().flatten().take(MAX_ENTRIES).flatten() {
        if entry.file_name().to_str().and_then(target_of_temporary) == Some(name) {
            remove_without_writer(&entry.path());
        }
    }
}

/// Removes the temporary files in `directory` whose writer was killed, and of the files whose names end in
/// `suffix` the oldest ones, so that `most` stay.
pub fn remove_oldest(directory: &Path, suffix: &str, most: usize) {
    let mut kept: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if target_of_temporary(name).is_some() {
            remove_without_writer(&entry.path());
        } else if name.ends_with(suffix)
            && let Ok(modified) = entry.metadata().and_then(|metadata| metadata.modified())
        {
            kept.push((modified, entry.path()));
        }
    }
    kept.sort_unstable();
    let surplus = kept.len().saturating_sub(most);
    for (_, path) in kept.into_iter().take(surplus) {
        // If it cannot be removed, the next run tries again.
        let _ = fs::remove_file(path);
    }
}

/// Returns the name of the file that a temporary file called `name` was to replace.
pub fn target_of_temporary(name: &str) -> Option<&str> {
    let (target, random) = name.strip_prefix('.')?.strip_suffix(TEMPORARY_SUFFIX)?.rsplit_once('.')?;
    let is_random = random.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (is_random && !random.is_empty() && !target.is_empty()).then_some(target)
}

/// Removes the temporary file at `path`, if no process writes it.
fn remove_without_writer(path: &Path) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if !metadata.is_file() {
        return;
    }
    let file = File::open(path);
    let has_none = if cfg!(unix) {
        // The writer holds the lock.
        file.as_ref().is_ok_and(|file| file.try_lock().is_ok())
    } else {
        metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE))
    };
    if has_none {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn temporary_files_are_known_by_their_names() {
        for (name, expect) in [
            (".a.json.Xy12ab.rep.tmp", Some("a.json")),
            ("..a.json.71.rep.tmp", Some(".a.json")),
            (".a.71-0.rep.tmp", Some("a")),
            ("a.json.71.rep.tmp", None),
            (".a.json.swp", None),
            (".a.b c.rep.tmp", None),
            (".a..rep.tmp", None),
            (".rep.tmp", None),
            (".a.json.Xy12ab.tmp", None),
        ] {
            assert_eq!(target_of_temporary(name), expect, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn temporary_files_that_nobody_writes_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in [
            "..record.json.a1.rep.tmp",
            "..record.json.71.rep.tmp",
            "..record.json.b2.rep.tmp",
            "..other.json.1.rep.tmp",
        ] {
            fs::write(path(name), "x").unwrap();
        }
        let writer = File::open(path("..record.json.b2.rep.tmp")).unwrap();
        writer.lock().unwrap();
        remove_leftovers(&path(".record.json"));
        assert_eq!(names(directory.path()), ["..other.json.1.rep.tmp", "..record.json.b2.rep.tmp"]);
    }

    #[test]
    fn the_oldest_files_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        for (name, days) in
            [("a.skills", 3), ("b.skills", 2), ("c.skills", 1), ("tokens", 9), (".a.skills.1-0.rep.tmp", 2)]
        {
            let file = File::create(directory.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - day * days).unwrap();
        }
        remove_oldest(directory.path(), ".skills", 2);
        assert_eq!(names(directory.path()), ["b.skills", "c.skills", "tokens"]);
    }
}
