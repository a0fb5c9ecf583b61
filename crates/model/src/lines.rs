//! Ranges of lines in a text.

/// A range of lines, counted from 1, both ends included; an open end reaches to the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineRange {
    /// The first line; 1 by default.
    pub start: Option<usize>,
    /// The last line; the last of the file by default.
    pub end: Option<usize>,
}

/// The part of a text that a [`LineRange`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The lines with their line ends, exactly as they stand.
    pub bytes: &'a [u8],
    /// The number of the first line in `bytes`, or of the line after the last when it is empty.
    pub first_line: usize,
    /// The number of lines in `bytes`.
    pub lines: usize,
    /// The number of lines in the whole text.
    pub total_lines: usize,
}

impl LineRange {
    /// Returns the range `start..=end`.
    pub fn new(start: Option<usize>, end: Option<usize>) -> Self {
        Self { start, end }
    }

    /// Returns whether the range names no line at all: line 0, or an end before its start.
    pub fn is_empty(&self) -> bool {
        self.start == Some(0)
            || self.end == Some(0)
            || matches!((self.start, self.end), (Some(a), Some(b)) if a > b)
    }

    /// Returns the lines of `bytes` that the range names; a range past the end is empty.
    ///
    /// A line ends with LF; CR before it belongs to the line. A last line without LF is a line.
    pub fn apply<'a>(&self, bytes: &'a [u8]) -> Excerpt<'a> {
        let mut ends: Vec<usize> = memchr::memchr_iter(b'\n', bytes).map(|index| index + 1).collect();
        if ends.last().copied().unwrap_or(0) < bytes.len() {
            ends.push(bytes.len());
        }
        let total_lines = ends.len();
        let first = self.start.unwrap_or(1).max(1).min(total_lines + 1);
        let last = if self.is_empty() { 0 } else { self.end.unwrap_or(total_lines).min(total_lines) };
        let offset = |line: usize| if line == 0 { 0 } else { ends[line - 1] };
        let (from, to) = (offset(first - 1), offset(last.max(first - 1)));
        Excerpt {
            bytes: &bytes[from..to],
            first_line: first,
            lines: (last + 1).saturating_sub(first),
            total_lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, start: Option<usize>, end: Option<usize>, expect: &str) {
        let excerpt = LineRange::new(start, end).apply(text.as_bytes());
        assert_eq!(std::str::from_utf8(excerpt.bytes).unwrap(), expect, "{text:?} {start:?}:{end:?}");
        assert_eq!(excerpt.lines, expect.split_inclusive('\n').count());
    }

    #[test]
    fn ranges() {
        let text = "a\nb\r\nc";
        check(text, None, None, text);
        check(text, Some(2), None, "b\r\nc");
        check(text, None, Some(2), "a\nb\r\n");
        check(text, Some(2), Some(2), "b\r\n");
        check(text, Some(3), Some(99), "c");
        check(text, Some(4), Some(9), "");
        check(text, Some(3), Some(2), "");
        check(text, Some(0), Some(2), "");
        check("", None, None, "");
        check("", Some(1), Some(1), "");
        check("\n", Some(1), Some(1), "\n");
    }

    #[test]
    fn the_total_counts_a_last_line_without_line_end() {
        let total = |text: &str| LineRange::default().apply(text.as_bytes()).total_lines;
        assert_eq!([total(""), total("a"), total("a\n"), total("a\nb")], [0, 1, 1, 2]);
    }
}
