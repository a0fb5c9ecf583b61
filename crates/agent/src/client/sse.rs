//! Server-sent events.

use std::io::{self, BufRead};

/// The most bytes that the lines of one event may have.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Reads the data of server-sent events. Their names are left out: every service repeats them in the data.
#[derive(Debug)]
pub(super) struct Events<R> {
    reader: R,
}

impl<R: BufRead> Events<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader }
    }

    /// Returns the data of the next event, or `None` at the end of the stream.
    ///
    /// An event that the end cuts off is left out.
    pub(super) fn next(&mut self) -> io::Result<Option<String>> {
        let mut data: Option<String> = None;
        let mut line = Vec::new();
        let mut size = 0;
        loop {
            line.clear();
            let limit = (MAX_EVENT_BYTES + 1 - size) as u64;
            let count = io::Read::take(&mut self.reader, limit).read_until(b'\n', &mut line)?;
            size += count;
            if size > MAX_EVENT_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "an event is larger than 8 MiB"));
            }
            if count == 0 || !line.ends_with(b"\n") {
                return Ok(None);
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\r', '\n']);
            if text.is_empty() {
                match data {
                    Some(data) => return Ok(Some(data)),
                    // Blank lines between events.
                    None => size = 0,
                }
            } else if let Some(value) = text.strip_prefix("data:") {
                let value = value.strip_prefix(' ').unwrap_or(value);
                match &mut data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    None => data = Some(value.to_owned()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut events = Events::new(text.as_bytes());
        std::iter::from_fn(|| events.next().unwrap()).collect()
    }

    #[test]
    fn comments_names_and_line_endings_are_understood() {
        let text = ": ping\r\n\r\nevent: a\r\ndata: {\"x\":1}\r\n\r\ndata:two\ndata: lines\n\n\nid: 3\n\n";
        assert_eq!(all(text), ["{\"x\":1}", "two\nlines"]);
    }

    #[test]
    fn an_event_that_is_cut_off_is_left_out() {
        assert_eq!(all("data: 1\n\ndata: 2"), ["1"]);
        assert_eq!(all("data: 1\n\ndata: 2\n"), ["1"]);
    }

    #[test]
    fn an_endless_event_is_an_error() {
        let text = format!("data: {}\n", "x".repeat(MAX_EVENT_BYTES));
        assert_eq!(Events::new(text.as_bytes()).next().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
