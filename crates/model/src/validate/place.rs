//! Turns ranges of a frontmatter into places of the file it stands in.

use crate::{Span, text};

/// Where a part of a file starts, so that offsets within the part become places in the file.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    file: &'a str,
    offset: usize,
}

impl<'a> Place<'a> {
    /// Returns the place of the part of `file` that starts at byte `offset`.
    pub fn new(file: &'a str, offset: usize) -> Self {
        Self { file, offset }
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
        Span { start: number(start), length: number(length), line: text::line_of(self.file, start) }
    }
}
