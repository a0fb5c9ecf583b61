//! Reads files that a command may have made: never through a link, never from a pipe, never without end.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

/// Returns what is in the plain file at `path`, if there is one. What is not one, or larger than `most`, is an error.
///
/// Nothing may run any more that could put something else in its place meanwhile.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Ok(metadata) if metadata.is_file() && metadata.len() <= most => {}
        Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no plain file, or too large")),
        Err(error) => return Err(error),
    }
    let mut content = Vec::new();
    fs::File::open(path)?.take(most).read_to_end(&mut content)?;
    Ok(Some(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_of_bounded_size() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link, none] = ["file", "link", "none"].map(|name| directory.path().join(name));
        fs::write(&file, "12345").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read(&file, 5).unwrap().unwrap(), b"12345");
        assert!(read(&file, 4).is_err() && read(&link, 5).is_err() && read(directory.path(), 5).is_err());
        assert!(read(&none, 5).unwrap().is_none() && read(&file.join("below"), 5).unwrap().is_none());
    }
}
