//! Addresses and their parts.

use ureq::http::Uri;

/// Returns `true` if `url` is well-formed and has a host.
pub fn has_host(url: &str) -> bool {
    url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()))
}

/// Returns the scheme, host and port of `url`.
pub fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}

/// Returns the address of `reference` on the page `base`; `None` if it leads upwards or to another scheme.
pub fn join(base: &str, reference: &str) -> Option<String> {
    if reference.split(['/', '?', '#']).any(|part| part == "..") || reference.chars().any(char::is_control) {
        return None;
    }
    if reference.starts_with("https://") || reference.starts_with("http://") {
        return Some(reference.to_owned());
    }
    if let Some(rest) = reference.strip_prefix("//") {
        return Some(format!("{}://{rest}", base.split("://").next()?));
    }
    // Another scheme.
    if reference.split(['/', '?', '#']).next().is_some_and(|start| start.contains(':')) {
        return None;
    }
    if reference.starts_with('/') {
        return Some(format!("{}{reference}", origin(base)));
    }
    let page = base.split(['?', '#']).next()?;
    let directory = &page[..=page.rfind('/')?];
    Some(format!("{directory}{}", reference.strip_prefix("./").unwrap_or(reference)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_resolved_against_the_page_that_names_them() {
        let base = "https://a.example/.well-known/agent-skills/index.json?x=/y";
        for (reference, expect) in [
            ("pdf.tar.gz", Some("https://a.example/.well-known/agent-skills/pdf.tar.gz")),
            ("./pdf/SKILL.md", Some("https://a.example/.well-known/agent-skills/pdf/SKILL.md")),
            ("/x.zip", Some("https://a.example/x.zip")),
            ("//b.example/x.zip", Some("https://b.example/x.zip")),
            ("https://b.example/x.zip", Some("https://b.example/x.zip")),
            ("../../x.zip", None),
            ("file:///etc/passwd", None),
        ] {
            assert_eq!(join(base, reference).as_deref(), expect, "{reference}");
        }
    }
}
