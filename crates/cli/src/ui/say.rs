//! Lines that threads in the background write to standard error.

use std::io::Write as _;

use super::escape::escape;

/// Writes `text` to standard error as one line.
pub(crate) fn say(text: &str) {
    // Nothing can be reported when stderr is closed.
    let _ = std::io::stderr().write_all(line(text).as_bytes());
}

/// Writes a line of a log, which is escaped already, to standard error.
pub(crate) fn log(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

pub(crate) fn line(text: &str) -> String {
    format!("rep: {}\n", escape(text))
}
