//! Removes the temporary files of writers that were killed.

use std::fs;
use std::path::Path;

/// The most entries of the directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// Removes the temporary files for the record at `path`, as `replace_file` names them, whose process is not there any more. One
/// that cannot be removed is in nobody's way.
pub(crate) fn remove_leftovers(path: &Path) {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return;
    };
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let file = entry.file_name();
        let number = file.to_str().and_then(|file| {
            file.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".tmp")
        });
        let process = number.and_then(|number| number.parse::<i32>().ok());
        if process.is_some_and(|process| !is_running(process)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns `true` if another process has the number `process`, or if that cannot be known.
#[cfg(unix)]
fn is_running(process: i32) -> bool {
    use rustix::io::Errno;
    use rustix::process::{Pid, getpid, test_kill_process};

    let Some(process) = Pid::from_raw(process).filter(|_| process > 0) else { return true };
    process != getpid() && test_kill_process(process) != Err(Errno::SRCH)
}

#[cfg(not(unix))]
fn is_running(_: i32) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn temporary_files_of_processes_that_are_gone_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero();
        let kept = [
            format!("..record.json.{parent}.tmp"),
            "..record.json.x.tmp".to_owned(),
            "..other.json.1.tmp".to_owned(),
        ];
        // No process has this number: it is above the largest that systems give.
        let gone =
            ["..record.json.2147483646.tmp".to_owned(), format!("..record.json.{}.tmp", std::process::id())];
        for name in kept.iter().chain(&gone) {
            fs::write(directory.path().join(name), "x").unwrap();
        }
        remove_leftovers(&directory.path().join(".record.json"));
        for name in &kept {
            assert!(directory.path().join(name).is_file(), "{name}");
        }
        for name in &gone {
            assert!(!directory.path().join(name).is_file(), "{name}");
        }
    }
}
