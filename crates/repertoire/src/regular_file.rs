//! Reads regular files of bounded size, never a pipe or a device.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Returns the bytes of the regular file at `path`, following links.
///
/// It never waits for a pipe or a device, and never reads more than `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_opened(open(path, true)?, most)
}

/// Returns at most the last `most` bytes of the regular file at `path`; otherwise as [`read`].
pub fn read_end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path, true)?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(most)))?;
    read_opened(file, most)
}

/// Returns the bytes of the regular file at `path`, which may not be a symbolic link; otherwise as [`read`].
pub fn read_no_follow(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if std::fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link"));
    }
    read_opened(open(path, false)?, most)
}

fn read_opened(file: File, most: u64) -> io::Result<Vec<u8>> {
    // The handle is checked, so that no other file can take its place in between.
    let metadata = file.metadata()?;
    // Reading a directory gives the system's own error.
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn open(path: &Path, follow: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, !follow);
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_bounded_size() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&file, 4).unwrap_err().to_string(), "it is larger than 4 bytes");
        assert_eq!(read_end(&file, 6).unwrap(), b"12345");
        assert_eq!(read_end(&file, 2).unwrap(), b"45");
        assert!(read(directory.path(), 5).is_err());
        assert_eq!(read(&directory.path().join("none"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_and_devices_are_refused_at_once() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};

        let directory = tempfile::tempdir().unwrap();
        let (pipe, link) = (directory.path().join("pipe"), directory.path().join("link"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [&pipe, &link] {
            assert_eq!(read(path, 5).unwrap_err().to_string(), "it is not a regular file");
        }
        assert!(read_end(&pipe, 5).is_err() && read_end(&link, 5).is_err());
        assert_eq!(read_no_follow(&link, 5).unwrap_err().to_string(), "it is a symbolic link");
        assert_eq!(read_no_follow(&pipe, 5).unwrap_err().to_string(), "it is not a regular file");
    }
}
