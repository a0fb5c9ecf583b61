//! Media types of files, by the extensions of their names.

use crate::provider::content;

/// The media type of a directory.
pub const DIRECTORY: &str = "inode/directory";

/// Extensions of binary files, and of text files with a type of their own.
const EXTENSIONS: &[(&str, &str)] = &[
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ts", "text/typescript"),
    ("txt", "text/plain"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("zip", "application/zip"),
];

/// Returns the media type of a file by its name, or none if it is unknown.
pub fn by_name(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
    let known = EXTENSIONS.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known));
    let text = || Some(content::media_type(path, b"")).filter(|kind| *kind != "text/plain");
    known.map(|(_, kind)| *kind).or_else(text)
}

/// Returns the media type of a file by its name, or else by its content.
pub fn of(path: &str, bytes: &[u8]) -> &'static str {
    by_name(path).unwrap_or_else(|| content::media_type(path, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_follow_file_extensions() {
        for (path, expect) in [
            ("SKILL.md", Some("text/markdown")),
            ("a/b.PNG", Some("image/png")),
            ("a.txt", Some("text/plain")),
            ("a.unknown", None),
            ("Makefile", None),
            ("x.d/Makefile", None),
        ] {
            assert_eq!(by_name(path), expect, "{path}");
        }
        assert_eq!(of("Makefile", b"all:\n"), "text/plain");
        assert_eq!(of("data", b"\0\x01"), "application/octet-stream");
    }
}
