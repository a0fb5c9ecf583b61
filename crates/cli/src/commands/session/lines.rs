//! Lines of bounded length.

use std::io::{self, BufRead};

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
    /// Returns the lines of `input`.
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), limit: MAX_LINE_BYTES }
    }

    /// Returns the next line.
    pub(super) fn next_line(&mut self) -> io::Result<Line<'_>> {
        self.buffer.clear();
        let (mut is_too_long, mut is_any) = (false, false);
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok(match is_any {
                    false => Line::End,
                    true if is_too_long => Line::TooLong,
                    true => Line::Text(&self.buffer),
                });
            }
            is_any = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            is_too_long |= self.buffer.len() + part.len() > self.limit;
            if !is_too_long {
                self.buffer.extend_from_slice(part);
            }
            let used = end.map_or(available.len(), |end| end + 1);
            self.input.consume(used);
            if end.is_some() {
                return Ok(if is_too_long { Line::TooLong } else { Line::Text(&self.buffer) });
            }
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
