//! Addresses of pages.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that stay as they are in a part of an address.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns `text` as one part of a path, or as a value of a query.
pub(super) fn part(text: &str) -> String {
    utf8_percent_encode(text, PART).to_string()
}

pub(super) fn skill(address: &str) -> String {
    format!("/skills/{}", part(address))
}

/// Returns the address of the page of a file of a skill.
pub(super) fn file(address: &str, path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(part).collect();
    format!("/skills/{}/files/{}", part(address), parts.join("/"))
}

/// Returns the query of `pairs`, with the question mark; empty values are left out.
pub(super) fn query(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    let text: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", part(value))).collect();
    if text.is_empty() { String::new() } else { format!("?{}", text.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_part_of_an_address() {
        assert_eq!(skill("project:a/b?c#d\"><"), "/skills/project%3Aa%2Fb%3Fc%23d%22%3E%3C");
        assert_eq!(file("a", "x/ü y.md"), "/skills/a/files/x/%C3%BC%20y.md");
        assert_eq!(query(&[("q", "a&b"), ("x", "")]), "?q=a%26b");
    }
}
