//! Lines of bounded length.

use std::io::{self, BufRead, Read as _};

/// The longest line that is read, in bytes: a whole transcript fits.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A line, without its end.
    Text(&'a [u8]),
    /// A line that is longer than any that is read; it was passed over.
    TooLong,
    /// There is nothing more.
    End,
}

/// Reads line by line.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    limit: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), limit: MAX_LINE_BYTES }
    }

    pub(super) fn next_line(&mut self) -> io::Result<Line<'_>> {
        let mut is_too_long = false;
        loop {
            self.buffer.clear();
            let most = self.limit as u64 + 1;
            let read = self.input.by_ref().take(most).read_until(b'\n', &mut self.buffer)?;
            if self.buffer.last() == Some(&b'\n') {
                self.buffer.pop();
            } else if read > self.limit {
                is_too_long = true;
                continue;
            }
            return Ok(match read {
                _ if is_too_long => Line::TooLong,
                0 => Line::End,
                _ => Line::Text(&self.buffer),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_next_one_is_whole() {
        let input = io::BufReader::with_capacity(3, &b"ab\n\nabcdef\nx\nlast"[..]);
        let mut lines = Lines { input, buffer: Vec::new(), limit: 4 };
        let mut seen = Vec::new();
        loop {
            match lines.next_line().unwrap() {
                Line::Text(text) => seen.push(String::from_utf8(text.to_vec()).unwrap()),
                Line::TooLong => seen.push("too long".to_owned()),
                Line::End => break,
            }
        }
        assert_eq!(seen, ["ab", "", "too long", "x", "last"]);
    }
}
