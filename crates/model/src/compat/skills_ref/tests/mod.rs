//! The reference's answers, recorded from `skills-ref` 0.1.1 and held against this module without Python.

mod edge_cases;
mod hostile;
mod recorded;
mod upstream;

use super::{Crash, Error, read_properties, validate};

/// Returns the complaints about `content` in a directory called `directory`.
fn complaints(content: &str, directory: &str) -> Vec<String> {
    validate(content, directory).unwrap()
}

/// Returns what `read-properties` prints, on either stream, without `Error: `.
fn printed(content: &str) -> String {
    let json = read_properties(content).and_then(|properties| properties.to_json().map_err(Crash::into));
    json.unwrap_or_else(|error: Error| error.to_string())
}
