//! The scratch directory of a command.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The default parent of scratch directories.
pub(crate) const PARENT: &str = "/tmp";

/// The size that every entry counts at least, so that empty files are not free: the limit has to be reached
/// while they are made, and counting many of them takes as long as making them.
pub(crate) const MIN_ENTRY: u64 = 8192;

/// The most files whose sizes are remembered.
const MAX_SIZES: usize = 1 << 20;

/// Its subdirectories, for the variables that point into it.
const INNER: &[&str] = &["home", "tmp", "work", "home/.cache", "home/.config", "home/.local"];

/// A fresh directory that only its owner can read, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a scratch directory in `parent`.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let parent = parent.canonicalize()?;
        for _ in 0..64 {
            let count = COUNTER.fetch_add(1, Ordering::Relaxed);
            let nanos =
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.subsec_nanos());
            let path = parent.join(format!("repertoire-{}-{count}-{nanos:08x}", std::process::id()));
            // The directory must be new: another user could have prepared an existing one.
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let scratch = Self { path };
                    for inner in INNER {
                        fs::DirBuilder::new().mode(0o700).create(scratch.path.join(inner))?;
                    }
                    return Ok(scratch);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the working directory of a command that is granted none.
    pub(crate) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// Returns the environment variables that point into it.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let place = |inner: &str| self.path.join(inner).to_string_lossy().into_owned();
        [
            ("HOME", "home"),
            ("TMPDIR", "tmp"),
            ("TMP", "tmp"),
            ("TEMP", "tmp"),
            ("XDG_CACHE_HOME", "home/.cache"),
            ("XDG_CONFIG_HOME", "home/.config"),
            ("XDG_DATA_HOME", "home/.local"),
            ("XDG_STATE_HOME", "home/.local"),
        ]
        .map(|(name, inner)| (name.to_owned(), place(inner)))
        .into()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If that fails, the rest stays in a directory that only its owner can read.
        let _ = remove(&self.path);
    }
}

/// Removes a directory, whatever its permissions are and however deep it is.
///
/// Subdirectories are moved to the top one by one, so neither paths nor the number of open directories grow.
pub(crate) fn remove(top: &Path) -> io::Result<()> {
    let mut count = 0_u64;
    let mut pending = vec![top.to_owned()];
    let mut emptied = Vec::new();
    while let Some(directory) = pending.pop() {
        // Errors are ignored here: removing `top` at the end fails if anything is left.
        let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let _ = fs::remove_file(entry.path());
            } else if fs::remove_dir(entry.path()).is_err() {
                if directory == top {
                    pending.push(entry.path());
                    continue;
                }
                // Moving a directory needs write permission on it.
                let _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700));
                let moved = fresh(top, &mut count);
                if fs::rename(entry.path(), &moved).is_ok() {
                    pending.push(moved);
                }
            }
        }
        if directory != top {
            emptied.push(directory);
        }
        if emptied.len() > 64 || pending.is_empty() {
            for directory in emptied.drain(..) {
                let _ = fs::remove_dir(directory);
            }
        }
    }
    fs::remove_dir(top)
}

fn fresh(top: &Path, count: &mut u64) -> PathBuf {
    loop {
        *count += 1;
        let path = top.join(format!(".removed-{count}"));
        if fs::symlink_metadata(&path).is_err() {
            return path;
        }
    }
}

/// The files that one poll has counted, and what earlier polls saw of them.
#[derive(Debug, Default)]
pub(crate) struct FileSizes {
    counted: HashSet<(u64, u64)>,
    seen: HashMap<(u64, u64), SeenFile>,
}

#[derive(Debug, Default)]
struct SeenFile {
    /// The largest size that it had in any poll.
    largest: u64,
    /// `true` if the last poll that saw it found it larger than the polls before.
    is_growing: bool,
}

/// The size from which on a file that grew when it was last seen may have grown a lot since, in bytes.
#[cfg(target_os = "linux")]
const LARGE: u64 = 1 << 20;

impl FileSizes {
    /// Begins a new poll, in which every file counts again.
    pub(crate) fn begin(&mut self) {
        self.counted.clear();
        if self.seen.len() > MAX_SIZES {
            self.seen.clear();
        }
    }

    /// Counts a file or directory that takes `used` bytes of `length`; returns what it adds to the total.
    pub(crate) fn count(&mut self, id: (u64, u64), used: u64, length: u64) -> u64 {
        let is_new = self.counted.insert(id);
        let (seen, size) = (self.seen.entry(id).or_default(), used.max(length));
        // It may be open several times.
        seen.is_growing = size > seen.largest || (seen.is_growing && !is_new);
        seen.largest = size.max(seen.largest);
        if is_new { used } else { 0 }
    }

    /// Counts a file of which only a mapping of `mapped` bytes is seen; `unknown` is its size if no poll has
    /// seen the file before, or if it was growing when one did.
    #[cfg(target_os = "linux")]
    pub(crate) fn count_mapped(&mut self, id: (u64, u64), mapped: u64, unknown: u64) -> u64 {
        let size = match self.seen.get_mut(&id) {
            Some(seen) => {
                seen.largest = mapped.max(seen.largest);
                let is_known = !seen.is_growing || seen.largest < LARGE;
                if is_known { seen.largest } else { seen.largest.max(unknown) }
            }
            None => unknown,
        };
        if self.counted.insert(id) { size } else { 0 }
    }
}

/// The size of a directory that cannot be read, or is too deep for a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UnreadableSize {
    /// It counts as more than the limit, because a running command may write anything to it.
    AboveLimit,
    /// It does not count.
    Zero,
}

/// Returns the disk usage of everything in `top` in bytes; counting stops above `limit`. Entries in `sizes`
/// are left out, and the others are added to it.
pub(crate) fn size(top: &Path, limit: u64, unreadable: UnreadableSize, sizes: &mut FileSizes) -> u64 {
    let mut total = 0;
    let mut pending = vec![top.to_owned()];
    while let Some(directory) = pending.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                continue;
            }
            Err(_) => match unreadable {
                UnreadableSize::AboveLimit => return limit.saturating_add(1),
                UnreadableSize::Zero => continue,
            },
        };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let used = (metadata.blocks() * 512).max(MIN_ENTRY);
            let added = sizes.count((metadata.dev(), metadata.ino()), used, metadata.len());
            total += added;
            if added > 0 && metadata.is_dir() {
                pending.push(entry.path());
            }
            if total > limit {
                return total;
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mapped_file_that_grew_when_it_was_last_seen_may_have_any_size() {
        let (mut sizes, unknown) = (FileSizes::default(), 256 << 20);
        let [growing, still, small, unseen] = [1, 2, 3, 4].map(|inode| (0, inode));
        for size in [10 << 20, 20 << 20] {
            sizes.begin();
            sizes.count(growing, size, size);
            sizes.count(growing, size, size);
            sizes.count(still, 20 << 20, 20 << 20);
            sizes.count(small, size >> 10, size >> 10);
        }
        sizes.begin();
        let mut mapped = |id| sizes.count_mapped(id, 4096, unknown);
        assert_eq!([growing, still, small, unseen].map(&mut mapped), [unknown, 20 << 20, 20 << 10, unknown]);
        assert_eq!(mapped(growing), 0, "it counts once");
    }

    #[test]
    fn is_private_and_removed_whatever_its_content() {
        let parent = tempfile::tempdir().unwrap();
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "kept").unwrap();
        let scratch = Scratch::create(parent.path()).unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        symlink(&outside, path.join("link")).unwrap();
        fs::create_dir_all(path.join("a/b/c")).unwrap();
        fs::write(path.join("a/b/c/file"), "x").unwrap();
        for shut in ["a/b/c", "a/b", "a"] {
            fs::set_permissions(path.join(shut), fs::Permissions::from_mode(0o000)).unwrap();
        }
        drop(scratch);
        assert!(fs::symlink_metadata(&path).is_err());
        assert_eq!(fs::metadata(outside.join("file")).unwrap().len(), 4);
    }

    #[test]
    fn directories_too_deep_for_a_path_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(parent.path()).unwrap();
        let path = scratch.path().to_owned();
        // Too deep for a path, so it is built from the inside out.
        let name = "d".repeat(200);
        fs::create_dir(path.join("chain")).unwrap();
        for _ in 0..100 {
            fs::create_dir(path.join("outer")).unwrap();
            fs::rename(path.join("chain"), path.join("outer").join(&name)).unwrap();
            fs::rename(path.join("outer"), path.join("chain")).unwrap();
        }
        drop(scratch);
        assert!(fs::symlink_metadata(&path).is_err());
    }

    #[test]
    fn size_counts_empty_files() {
        let parent = tempfile::tempdir().unwrap();
        for number in 0..100 {
            fs::write(parent.path().join(number.to_string()), "").unwrap();
        }
        let counted = |limit| size(parent.path(), limit, UnreadableSize::Zero, &mut FileSizes::default());
        assert!(counted(u64::MAX) >= 100 * MIN_ENTRY);
        assert!(counted(5000) < 3 * MIN_ENTRY);
    }

    #[test]
    fn a_directory_that_cannot_be_read_counts_only_while_the_command_runs() {
        use rustix::fs::{Mode, OFlags, mkdirat, openat};

        let parent = tempfile::tempdir().unwrap();
        let mut directory = std::os::fd::OwnedFd::from(fs::File::open(parent.path()).unwrap());
        // Too deep for a path, which not even root can read.
        for _ in 0..20 {
            let name = "x".repeat(250);
            mkdirat(&directory, &*name, Mode::RWXU).unwrap();
            directory = openat(&directory, &*name, OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let counted =
            |unreadable| size(parent.path(), 1 << 20, unreadable, &mut FileSizes::default()) > 1 << 20;
        assert!(counted(UnreadableSize::AboveLimit));
        assert!(!counted(UnreadableSize::Zero));
    }
}
