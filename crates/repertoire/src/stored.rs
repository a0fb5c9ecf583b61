//! Files that only this program reads and writes, replaced as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::regular_file;

/// Distinguishes the temporary files that this process writes at the same time.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Replaces the file `name` of `directory` atomically.
pub fn replace(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = directory.join(format!(".{name}.{}-{number}.tmp", std::process::id()));
    let written = create(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, directory.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Removes leftovers of writes that began before `stale` ago, and of the files whose names end in `suffix`
/// the oldest ones, so that `most` stay.
pub fn prune(directory: &Path, suffix: &str, most: usize, stale: Duration) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut kept: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Ok(modified) = entry.metadata().and_then(|metadata| metadata.modified()) else { continue };
        if name.starts_with('.') && name.ends_with(".tmp") {
            if modified.elapsed().is_ok_and(|age| age > stale) {
                let _ = fs::remove_file(entry.path());
            }
        } else if name.ends_with(suffix) {
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

/// Creates a file that only its owner may read: descriptions may be private.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns the file at `path`, if it is there and at most `limit` bytes.
pub fn read(path: &Path, limit: usize) -> Option<Vec<u8>> {
    regular_file::read(path, limit as u64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_and_devices_are_no_files_to_wait_for() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};

        let directory = tempfile::tempdir().unwrap();
        let (file, pipe) = (directory.path().join("file"), directory.path().join("pipe"));
        fs::write(&file, "12345").unwrap();
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert!(read(&file, 4).is_none());
        for path in [&*pipe, Path::new("/dev/zero"), directory.path()] {
            assert!(read(path, 5).is_none(), "{}", path.display());
        }
    }

    #[test]
    fn leftovers_and_the_oldest_files_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        let write = |name: &str, days: u32| {
            let file = File::create(directory.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - day * days).unwrap();
        };
        for (name, days) in [
            ("a.skills", 4),
            ("b.skills", 3),
            ("c.skills", 2),
            (".a.skills.1-0.tmp", 2),
            (".b.skills.1-0.tmp", 0),
            ("tokens", 9),
        ] {
            write(name, days);
        }
        prune(directory.path(), ".skills", 2, day);
        let mut names: Vec<String> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [".b.skills.1-0.tmp", "b.skills", "c.skills", "tokens"]);
    }
}
