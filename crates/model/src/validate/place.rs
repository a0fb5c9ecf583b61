//! Turns ranges of a frontmatter into places of the file it stands in.

use std::cell::Cell;

use crate::Span;

/// The start of a part of a file, which maps offsets within the part to places in the file.
///
/// It caches the last line it returned, and counts on from there: places are mostly requested in order, and
/// then all of them together cost one pass over the file.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    file: &'a str,
    offset: usize,
    last: Cell<LinePosition>,
    #[cfg(test)]
    looked_at: Cell<usize>,
}

/// An offset in the file, and how many lines end before it.
#[derive(Debug, Clone, Copy, Default)]
struct LinePosition {
    offset: usize,
    lines: usize,
}

impl<'a> Place<'a> {
    /// Returns the place of the part of `file` that starts at byte `offset`.
    pub fn new(file: &'a str, offset: usize) -> Self {
        Self {
            file,
            offset,
            last: Cell::default(),
            #[cfg(test)]
            looked_at: Cell::default(),
        }
    }

    /// Returns the text of `range` within the part.
    pub fn slice(&self, range: &std::ops::Range<usize>) -> &'a str {
        self.file.get(range.start + self.offset..range.end + self.offset).unwrap_or_default()
    }

    /// Returns the span of `range` within the part, without the line ends at its end.
    pub fn span(&self, range: &std::ops::Range<usize>) -> Span {
        let start = (range.start + self.offset).min(self.file.len());
        let length = self.slice(range).trim_end().len();
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Span { start: number(start), length: number(length), line: self.line(start) }
    }

    /// Returns the line, counted from 1, on which the byte at `offset` of the file stands.
    pub fn line(&self, offset: usize) -> u32 {
        let offset = offset.min(self.file.len());
        let last = self.last.get();
        let between = &self.file.as_bytes()[last.offset.min(offset)..last.offset.max(offset)];
        #[cfg(test)]
        self.looked_at.set(self.looked_at.get() + between.len());
        let ends = memchr::memchr_iter(b'\n', between).count();
        let lines = if offset < last.offset { last.lines - ends } else { last.lines + ends };
        self.last.set(LinePosition { offset, lines });
        u32::try_from(lines).unwrap_or(u32::MAX - 1) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_right_in_any_order() {
        let place = Place::new("a\nb\n\nc", 0);
        for (offset, line) in [(0, 1), (5, 4), (2, 2), (1, 1), (99, 4), (4, 3), (0, 1)] {
            assert_eq!(place.line(offset), line, "{offset}");
        }
    }

    #[test]
    fn many_places_cost_one_pass() {
        let file = "k: v\n".repeat(10_000);
        let place = Place::new(&file, 0);
        for (index, start) in (0..file.len()).step_by(5).enumerate() {
            assert_eq!(place.span(&(start..start + 4)).line as usize, index + 1);
        }
        assert!(place.looked_at.get() <= file.len());
    }
}
