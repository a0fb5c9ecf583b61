//! The content of skills and files, and the detection of media types.

use repertoire_model::{Document, LineRange, text};

use super::listing::FileListing;

/// The number of bytes at the start of a file that are examined to tell text from binary.
const SNIFFED_BYTES: usize = 8 * 1024;

/// The media type of text of no particular kind.
const PLAIN_TEXT: &str = "text/plain";

/// The media type of bytes of no particular kind.
const BINARY: &str = "application/octet-stream";

/// The media type of text that is not UTF-8 and has to be converted before it can be read.
const UTF_16: &str = "text/plain; charset=utf-16";

/// Media types of binary files, by their first bytes.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x7fELF", "application/x-executable"),
    (b"wOF2", "font/woff2"),
    (b"\0asm", "application/wasm"),
    (b"SQLite format 3", "application/vnd.sqlite3"),
];

/// Media types of text files, by file extension.
const TEXT_EXTENSIONS: &[(&str, &str)] = &[
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("py", "text/x-python"),
    ("sh", "application/x-sh"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// A skill with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its parsed `SKILL.md`.
    pub document: Document,
    /// The full text of its `SKILL.md`.
    pub text: String,
}

impl Skill {
    /// Returns the instructions: everything after the frontmatter, byte for byte.
    pub fn body(&self) -> &str {
        self.text.get(self.document.body.offset..).unwrap_or_default()
    }
}

/// A skill with its text and its files.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenedSkill {
    /// The skill.
    pub skill: Skill,
    /// Its files.
    pub files: FileListing,
}

/// The content of a file, or of a range of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileContent {
    /// The requested bytes: the whole file, or the lines of the range.
    pub bytes: Vec<u8>,
    /// The size of the whole file.
    pub size: u64,
    /// The first line in `bytes`.
    pub first_line: usize,
    /// The number of lines in `bytes`.
    pub lines: usize,
    /// The number of lines in the whole file.
    pub total_lines: usize,
    /// The media type of the whole file if it is binary; some of its lines may look like text.
    pub binary: Option<&'static str>,
}

impl FileContent {
    /// Returns the part of `bytes` that `lines` names.
    pub fn of(bytes: &[u8], lines: LineRange) -> Self {
        let excerpt = lines.apply(bytes);
        Self {
            bytes: excerpt.bytes.to_vec(),
            size: bytes.len() as u64,
            first_line: excerpt.first_line,
            lines: excerpt.lines,
            total_lines: excerpt.total_lines,
            binary: is_binary(bytes).then(|| media_type("", bytes)),
        }
    }

    /// Returns the bytes as text, unless they are binary.
    pub fn text(&self) -> Option<&str> {
        if self.binary.is_some() { None } else { std::str::from_utf8(&self.bytes).ok() }
    }
}

/// Returns `true` if `bytes` are not text: their start contains a NUL or is not UTF-8.
pub fn is_binary(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    let is_text = match std::str::from_utf8(start) {
        Ok(_) => true,
        // The examined part may end inside a character.
        Err(error) => error.error_len().is_none() && start.len() < bytes.len(),
    };
    !is_text || start.contains(&0)
}

/// Returns the media type of a file called `path` that starts with `bytes`.
///
/// Binary files are recognised by their first bytes, whatever their name; text files by their extension.
pub fn media_type(path: &str, bytes: &[u8]) -> &'static str {
    if let Some((_, kind)) = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature)) {
        return kind;
    }
    if text::is_utf16(bytes) {
        return UTF_16;
    }
    if is_binary(bytes) {
        return BINARY;
    }
    let extension = path.rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default();
    TEXT_EXTENSIONS
        .iter()
        .find(|(known, _)| extension.eq_ignore_ascii_case(known))
        .map_or(PLAIN_TEXT, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_depend_on_bytes_and_name() {
        let check = |path: &str, bytes: &[u8], kind: &str| {
            assert_eq!(media_type(path, bytes), kind, "{path}");
            let content = FileContent::of(bytes, LineRange::default());
            assert_eq!(content.text().is_none(), is_binary(bytes), "{path}");
        };
        check("a.md", b"# A\n", "text/markdown");
        check("references/A.MD", "ü".as_bytes(), "text/markdown");
        check("a.json", b"{}", "application/json");
        check("Makefile", b"all:\n", "text/plain");
        check("empty", b"", "text/plain");
        check("a.md", b"\x89PNG\r\n\x1a\n\0", "image/png");
        check("a.md", b"nul \0", "application/octet-stream");
        check("utf-16.md", b"\xff\xfe#\0 \0A\0\n\0", "text/plain; charset=utf-16");
        check("latin-1.txt", b"\xfcber", "application/octet-stream");
    }

    #[test]
    fn some_lines_of_a_binary_file_are_no_text() {
        let content = FileContent::of(b"\x89PNG\r\n\x1a\n\0\nreadable\n", LineRange::new(Some(4), None));
        assert_eq!(
            (content.bytes.as_slice(), content.text(), content.binary),
            (&b"readable\n"[..], None, Some("image/png"))
        );
    }

    #[test]
    fn a_character_cut_at_the_sniffing_limit_is_still_text() {
        let mut text = "x".repeat(SNIFFED_BYTES - 1);
        text.push('ü');
        assert!(!is_binary(text.as_bytes()));
        assert!(is_binary(&text.as_bytes()[..SNIFFED_BYTES]));
    }
}
