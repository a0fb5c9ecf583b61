//! A fast parser for the simple YAML that most frontmatter is written in.
//!
//! Nine skills in ten have nothing but lines of `key: text`, perhaps with one more level below `metadata`. Reading these
//! takes a fraction of what a YAML parser takes, and a large library is mostly these. Everything else is
//! left to the full parser; a property test holds both to the same result.

use super::tree::{Entry, Node, ParsedYaml, Range, Scalar};

/// The most lines that are read this way; more come near the budget of values.
const MAX_LINES: usize = 1024;

/// Characters that may mean something other than text at the start of a plain scalar.
const INDICATORS: &[u8] = b"-?:,[]{}#&*!|>'\"%@`";

/// Returns the parsed `text` if it is certainly of the simple kind.
pub(super) fn parse(text: &str) -> Option<ParsedYaml> {
    if !is_harmless(text) {
        return None;
    }
    let mut lines = Lines { text, offset: 0, read: 0 };
    let mut entries = Vec::new();
    while let Some(line) = lines.next()? {
        if line.indent != 0 {
            return None;
        }
        let (key, value) = line.pair()?;
        let value = match value {
            Some(scalar) => Node::Scalar(scalar),
            None => nested(&mut lines)?,
        };
        entries.push(Entry { key, value });
    }
    let start = entries.first()?.key.range.start;
    Some(ParsedYaml { root: Some(Node::Mapping(entries, start..text.len())), comments: Vec::new() })
}

/// Reads the lines below a key that has nothing after its colon: all `key: text`, or all `- text`, at one indent.
fn nested(lines: &mut Lines<'_>) -> Option<Node> {
    let first = lines.peek()??;
    if first.indent == 0 {
        return None;
    }
    let is_list = first.text().starts_with("- ");
    let start = first.start;
    let mut end = start;
    let (mut items, mut entries) = (Vec::new(), Vec::new());
    while let Some(line) = lines.peek()?.filter(|line| line.indent > 0) {
        if line.indent != first.indent {
            return None;
        }
        end = line.end;
        if is_list {
            let item = line.text().strip_prefix("- ")?;
            let from = line.end - item.trim_start_matches(' ').len();
            items.push(Node::Scalar(scalar(line.source, from..line.end)?));
        } else {
            let (key, value) = line.pair()?;
            entries.push(Entry { key, value: Node::Scalar(value?) });
        }
        lines.next()?;
    }
    let range = start..end;
    Some(if is_list { Node::Sequence(items, range) } else { Node::Mapping(entries, range) })
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

struct Lines<'a> {
    text: &'a str,
    offset: usize,
    read: usize,
}

/// A line that is not blank, without its indent, line end and trailing blanks.
#[derive(Clone, Copy)]
struct Line<'a> {
    source: &'a str,
    indent: usize,
    start: usize,
    end: usize,
}

impl<'a> Lines<'a> {
    /// Returns the next line; `None` within means the end, without means that the parser is needed.
    fn next(&mut self) -> Option<Option<Line<'a>>> {
        let line = self.peek()?;
        if let Some(line) = line {
            let rest = &self.text[line.end..];
            self.offset = line.end + memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
            self.read += 1;
        }
        Some(line)
    }

    fn peek(&self) -> Option<Option<Line<'a>>> {
        let rest = &self.text[self.offset..];
        if rest.is_empty() {
            return Some(None);
        }
        if self.read == MAX_LINES {
            return None;
        }
        let line = &rest[..memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())];
        let trimmed = line.trim_end_matches(' ');
        // A blank line may belong to the value before it.
        if trimmed.is_empty() {
            return None;
        }
        let indent = trimmed.len() - trimmed.trim_start_matches(' ').len();
        let (start, end) = (self.offset + indent, self.offset + trimmed.len());
        Some(Some(Line { source: self.text, indent, start, end }))
    }
}

impl<'a> Line<'a> {
    fn text(&self) -> &'a str {
        &self.source[self.start..self.end]
    }

    /// Returns the key and the value of `key: value`; a value of nothing is `None`.
    fn pair(&self) -> Option<(Scalar, Option<Scalar>)> {
        let text = self.text();
        let is_key = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let length = text.bytes().take_while(is_key).count();
        if !text.starts_with(|c: char| c.is_ascii_alphabetic()) || text.as_bytes().get(length) != Some(&b':')
        {
            return None;
        }
        let range = self.start..self.start + length;
        let key = Scalar { text: text[..length].to_owned(), plain: true, range };
        let rest = &text[length + 1..];
        if rest.is_empty() {
            return Some((key, None));
        }
        let value = rest.trim_start_matches(' ');
        if value.len() == rest.len() {
            return None;
        }
        let value = scalar(self.source, self.end - value.len()..self.end)?;
        Some((key, Some(value)))
    }
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
