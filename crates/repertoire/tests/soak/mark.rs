//! The mark by which every version of a file identifies itself.

/// Returns the line that marks version `version` of `what`, with `filler` letters and a checksum.
pub(crate) fn line(what: &str, version: u64, filler: usize) -> String {
    let letters: String =
        (0..filler).map(|index| char::from(b'a' + (index * 7 + version as usize) as u8 % 26)).collect();
    let said = format!("{what} v{version} {letters}");
    format!("mark {said} end {:016x}\n", checksum(&said))
}

/// The mark of `what` found in a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// Nothing.
    Nothing,
    /// A whole version, and its line.
    Whole(u64, &'a str),
    /// Something that no version ever was.
    Torn,
}

/// Returns the mark of `what` in `text`.
pub(crate) fn find<'a>(text: &'a str, what: &str) -> Found<'a> {
    let start = format!("mark {what} v");
    let Some(position) = text.find(&start) else { return Found::Nothing };
    let line = &text[position..];
    let whole = || {
        let (said, rest) = line.strip_prefix("mark ")?.split_once(" end ")?;
        let version = said.strip_prefix(what)?.strip_prefix(" v")?.split(' ').next()?.parse().ok()?;
        let sum = u64::from_str_radix(rest.get(..16)?, 16).ok()?;
        let end = "mark ".len() + said.len() + " end ".len() + 16;
        (sum == checksum(said)).then(|| Found::Whole(version, &line[..end]))
    };
    whole().unwrap_or(Found::Torn)
}

/// FNV-1a.
fn checksum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
