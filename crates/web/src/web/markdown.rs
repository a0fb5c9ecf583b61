//! Instructions of skills as HTML, without anything that could run or be loaded.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Maximum bytes of instructions that are rendered; more are shown as text.
const MAX_BYTES: usize = 512 * 1024;

/// Returns `markdown` as HTML; `None` if it is too large.
///
/// HTML in it is shown as text. Links lead to web pages or to files of the skill at `files`, and pictures are
/// links, because a page loads nothing from elsewhere.
pub(super) fn render(markdown: &str, files: &str) -> Option<String> {
    if markdown.len() > MAX_BYTES {
        return None;
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut text = String::with_capacity(markdown.len() * 2);
    let mut open_links = Vec::new();
    let (front, markdown) = frontmatter(markdown);
    let front = front.into_iter().flat_map(|front| {
        let block = CodeBlockKind::Indented;
        [
            Event::Start(Tag::CodeBlock(block)),
            Event::Text(CowStr::Borrowed(front)),
            Event::End(TagEnd::CodeBlock),
        ]
    });
    let events = front
        .chain(Parser::new_ext(markdown, options))
        .filter_map(|event| safe(event, files, &mut open_links));
    html::push_html(&mut text, events);
    // Tables that are too wide are scrolled by keyboard. Nothing else in the text can be these tags.
    let text = text.replace("<pre>", "<pre tabindex=\"0\">");
    Some(
        text.replace("<table>", "<div class=\"scroll\" tabindex=\"0\"><table>")
            .replace("</table>", "</table></div>"),
    )
}

/// Returns the frontmatter of a file, if it has any, and the rest. Markdown takes it for a heading.
fn frontmatter(text: &str) -> (Option<&str>, &str) {
    let split = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    split.map_or((None, text), |(front, rest)| (Some(front), rest))
}

/// Returns `event` without what could run or be loaded. `open_links` has an entry for each link or picture
/// that is open: true if it is shown.
fn safe<'a>(event: Event<'a>, files: &str, open_links: &mut Vec<bool>) -> Option<Event<'a>> {
    Some(match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(
            Tag::Link { link_type, dest_url, id, .. } | Tag::Image { link_type, dest_url, id, .. },
        ) => {
            let address = address(&dest_url, files);
            open_links.push(address.is_some());
            let dest_url = CowStr::from(address?);
            Event::Start(Tag::Link { link_type, dest_url, title: CowStr::Borrowed(""), id })
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            open_links.pop().filter(|is_shown| *is_shown)?;
            Event::End(TagEnd::Link)
        }
        // The name of a language may be anything.
        Event::Start(Tag::CodeBlock(_)) => Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)),
        Event::Start(Tag::MetadataBlock(_)) | Event::End(TagEnd::MetadataBlock(_)) => return None,
        other => other,
    })
}

/// Returns the address that a link to `target` leads to: a web page, a heading, or a file of the skill.
fn address(target: &str, files: &str) -> Option<String> {
    let is_plain = !target.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\');
    let lower = target.to_ascii_lowercase();
    if !is_plain || target.is_empty() {
        return None;
    }
    if lower.starts_with("https://") || lower.starts_with("http://") || target.starts_with('#') {
        return Some(target.to_owned());
    }
    // A colon in the first part means a scheme, such as `javascript:`; two slashes lead to another server.
    let first = target.split(['/', '?', '#']).next().unwrap_or_default();
    if first.contains(':') || target.starts_with('/') {
        return None;
    }
    let path = target.trim_start_matches("./").split(['?', '#']).next().unwrap_or_default();
    let is_inside = !path.is_empty() && !path.split('/').any(|part| part == ".." || part.is_empty());
    is_inside.then(|| format!("{files}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(markdown: &str) -> String {
        render(markdown, "/skills/x/files/").unwrap()
    }

    #[test]
    fn markdown_is_rendered() {
        let html = rendered(
            "# Title\n\nA *b* `c` [d](https://e.test/f) [g](references/h.md#i)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        );
        assert!(html.contains("<h1>Title</h1>") && html.contains("<em>b</em>") && html.contains("<table>"));
        assert!(html.contains("<a href=\"https://e.test/f\">d</a>"), "{html}");
        assert!(html.contains("<a href=\"/skills/x/files/references/h.md\">g</a>"), "{html}");
    }

    #[test]
    fn frontmatter_is_no_heading() {
        let html = rendered("---\nname: x\n<b>: y\n---\n# Title\n");
        assert_eq!(html, "<pre tabindex=\"0\"><code>name: x\n&lt;b&gt;: y</code></pre>\n<h1>Title</h1>\n");
    }

    #[test]
    fn wide_tables_are_scrolled_by_keyboard() {
        let html = rendered("| a |\n|---|\n| 1 |\n");
        assert!(
            html.starts_with("<div class=\"scroll\" tabindex=\"0\"><table>")
                && html.ends_with("</table></div>\n"),
            "{html}"
        );
    }

    #[test]
    fn nothing_of_a_skill_runs_or_is_loaded() {
        for hostile in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<svg onload=alert(1)>",
            "<style>*{display:none}</style>",
            "<iframe src=https://evil.test></iframe>",
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](java\u{0}script:alert(1))",
            "[a](&#106;avascript:alert(1))",
            "[a](data:text/html,<script>alert(1)</script>)",
            "[a](vbscript:x)",
            "[a](//evil.test/x)",
            "[a](\\\\evil.test/x)",
            "[a](../../../etc/passwd)",
            "![a](https://evil.test/pixel.png)",
            "![a](javascript:alert(1))",
            "<https://evil.test/\"onmouseover=\"alert(1)>",
            "[a](https://evil.test \"\\\" onclick=alert(1)\")",
            "```x\" onload=alert(1)\n```",
            "<div hx-get=/x hx-trigger=load>",
            "[a]: javascript:alert(1)\n\n[a]",
            "<!-- <script>alert(1)</script> -->",
        ] {
            let html = rendered(hostile);
            let is_harmless = [
                "<script",
                "<img",
                "<svg",
                "<style",
                "<iframe",
                "<div",
                "<!--",
                "=\"javascript",
                "=\"//",
                "=\"data",
                "=\"vb",
                "\" on",
                "=\"\\",
            ]
            .iter()
            .all(|bad| !html.to_ascii_lowercase().contains(bad));
            assert!(is_harmless, "{hostile}: {html}");
        }
    }
}
