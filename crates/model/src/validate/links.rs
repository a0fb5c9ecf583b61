//! Finds the links of a Markdown text that lead to files of the skill.

use pulldown_cmark::{Event, Parser, Tag};

/// A link as it stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// The path it leads to, percent-decoded, without query and fragment.
    pub(crate) target: String,
    /// The range of the link, in bytes of the text.
    pub(crate) range: std::ops::Range<usize>,
}

/// Returns the links of `markdown` that could lead to a file: no URL, no anchor, no placeholder.
pub(crate) fn file_links(markdown: &str) -> Vec<Link> {
    let mut links = Vec::new();
    if memchr::memmem::find(markdown.as_bytes(), b"](").is_none() && !markdown.contains("]:") {
        return links;
    }
    for (event, range) in Parser::new(markdown).into_offset_iter() {
        let (Event::Start(Tag::Link { dest_url, .. }) | Event::Start(Tag::Image { dest_url, .. })) = event
        else {
            continue;
        };
        if let Some(target) = file_target(&dest_url) {
            links.push(Link { target, range });
        }
    }
    links
}

fn file_target(url: &str) -> Option<String> {
    let path = url.split(['#', '?']).next().unwrap_or_default().trim();
    let has_scheme = path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    // Braces, dollars and angle brackets mark a place to fill in.
    let is_placeholder = path.contains(['{', '}', '$', '<', '>', '*', ' ', '(', '"', '|', '…']);
    if path.is_empty() || has_scheme || is_placeholder || path.starts_with(['~', '#', '@', '%']) {
        return None;
    }
    // A word without a dot or a slash is a name in an example far more often than a file.
    if !path.contains(['.', '/']) || path.ends_with("...") {
        return None;
    }
    Some(percent_decoded(path))
}

fn percent_decoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let hex = bytes.get(index + 1..index + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if bytes[index] == b'%' => {
                decoded.push(byte);
                index += 3;
            }
            _ => {
                decoded.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_files_count() {
        let text = "[a](references/a.md) ![b](assets/b%20c.png#x) [c](https://x.y/z.md) [d](#top) [e]({path}.md)\n\
            [f][r] `[g](no/code.md)` [h](mailto:x@y.z) [i](/abs.md)\n\n```\n[j](no/fence.md)\n```\n\n[r]: ../up.md\n";
        let targets: Vec<String> = file_links(text).into_iter().map(|link| link.target).collect();
        assert_eq!(targets, ["references/a.md", "assets/b c.png", "../up.md", "/abs.md"]);
    }
}
