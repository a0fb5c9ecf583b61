//! A fast parser for the simple YAML that most frontmatter is written in.
//!
//! Most skills have nothing but lines of `key: text`, perhaps with one more level below `metadata`. Reading
//! these takes a fraction of what a YAML parser takes, and a large library is mostly these. Everything else
//! is left to the full parser; a property test holds both to the same result.

use super::tree::{MappingEntry, Node, ParsedYaml, Range, Scalar};

/// The most lines that are read this way; more come near the budget of values.
const MAX_LINES: usize = 1024;

/// Characters that may mean something other than text at the start of a plain scalar.
const INDICATORS: &[u8] = b"-?:,[]{}#&*!|>'\"%@`";

/// Returns the parsed `text` if it is certainly of the simple kind.
pub(super) fn parse(text: &str) -> Option<ParsedYaml> {
    if !is_harmless(text) {
        return None;
    }
    let mut entries: Vec<MappingEntry> = Vec::new();
    let (mut offset, mut block_indent) = (0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let written = line.trim_end_matches(['\n', ' ']);
        let indent = written.len() - written.trim_start_matches(' ').len();
        let (start, end) = (offset + indent, offset + written.len());
        offset += line.len();
        if number == MAX_LINES {
            return None;
        }
        let (key, value) = pair(text, start..end)?;
        if indent == 0 {
            // Nothing behind the colon: the lines below it are its value.
            let value = value.map_or_else(|| Node::Mapping(Vec::new(), end..end), Node::Scalar);
            entries.push(MappingEntry { key, value });
            continue;
        }
        let Node::Mapping(block, range) = &mut entries.last_mut()?.value else { return None };
        if block.is_empty() {
            (block_indent, range.start) = (indent, start);
        }
        if indent != block_indent {
            return None;
        }
        range.end = end;
        block.push(MappingEntry { key, value: Node::Scalar(value?) });
    }
    let is_bare = |entry: &MappingEntry| matches!(&entry.value, Node::Mapping(block, _) if block.is_empty());
    if entries.iter().any(is_bare) {
        return None;
    }
    let start = entries.first()?.key.range.start;
    Some(ParsedYaml { root: Some(Node::Mapping(entries, start..text.len())), comments: Vec::new() })
}

/// Returns whether `text` holds neither tabs nor other controls, nor characters that some take for line ends.
fn is_harmless(text: &str) -> bool {
    let odd = |b: u8| (b < b' ' && b != b'\n') || b == 0x7f;
    if text.as_bytes().iter().fold(false, |found, b| found | odd(*b)) {
        return false;
    }
    text.is_ascii()
        || !text.chars().any(|c| {
            matches!(c, '\u{80}'..='\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        })
}

/// Returns the key and the value of the `key: value` at `range`, a line without its ends; no value is `None`.
fn pair(source: &str, range: Range) -> Option<(Scalar, Option<Scalar>)> {
    let text = &source[range.clone()];
    let is_key = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let length = text.bytes().take_while(is_key).count();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) || text.as_bytes().get(length) != Some(&b':') {
        return None;
    }
    let place = range.start..range.start + length;
    let key = Scalar { text: text[..length].to_owned(), plain: true, range: place };
    let rest = &text[length + 1..];
    if rest.is_empty() {
        return Some((key, None));
    }
    let value = rest.trim_start_matches(' ');
    if value.len() == rest.len() {
        return None;
    }
    Some((key, Some(scalar(source, range.end - value.len()..range.end)?)))
}

/// Returns the scalar at `range`, a part of one line without blanks at its ends.
fn scalar(source: &str, range: Range) -> Option<Scalar> {
    let written = &source[range.clone()];
    let quoted = |mark: u8| {
        let bytes = written.as_bytes();
        let inner = &written.get(1..written.len() - 1)?;
        let is_simple = bytes.len() >= 2
            && bytes[bytes.len() - 1] == mark
            && memchr::memchr2(mark, b'\\', inner.as_bytes()).is_none();
        is_simple.then(|| Scalar { text: (*inner).to_owned(), plain: false, range: range.clone() })
    };
    let first = *written.as_bytes().first()?;
    match first {
        b'"' | b'\'' if written.len() >= 2 => return quoted(first),
        _ if INDICATORS.contains(&first) => return None,
        _ => {}
    }
    let bytes = written.as_bytes();
    let ends_badly = bytes.last() == Some(&b':');
    let is_split = memchr::memchr2_iter(b':', b'#', bytes).any(|index| match bytes[index] {
        b':' => bytes.get(index + 1) == Some(&b' '),
        _ => index > 0 && bytes[index - 1] == b' ',
    });
    (!ends_badly && !is_split).then(|| Scalar { text: written.to_owned(), plain: true, range })
}
