//! Findings with the line of source they are about, as compilers show them.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use repertoire_model::Severity;
use repertoire_model::text::is_invisible;

use super::escape;

/// The most bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 240;

/// A finding to be shown.
#[derive(Debug, Clone)]
pub(crate) struct Note<'a> {
    /// How much it matters.
    pub severity: Severity,
    /// The rule that found it, shown in brackets.
    pub rule: Option<&'a str>,
    /// What is wrong.
    pub message: &'a str,
    /// What to do about it.
    pub help: Option<&'a str>,
    /// The file it is about, as a person would name it.
    pub path: &'a str,
    /// The text of that file, and the bytes the finding is about.
    pub place: Option<(&'a str, Range<usize>)>,
    /// The line, where the text cannot be shown.
    pub line: Option<u32>,
}

/// Returns `note` as text that ends with a line end.
pub(crate) fn render(note: &Note<'_>, is_coloured: bool) -> String {
    let level = match note.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let mut title = level.primary_title(escape(note.message));
    if let Some(rule) = note.rule {
        title = title.id(rule);
    }
    let path = escape(note.path);
    let mut group = match note.place.as_ref().and_then(|(text, range)| Excerpt::of(text, range)) {
        Some(excerpt) => title.element(
            Snippet::source(excerpt.line)
                .line_start(excerpt.number)
                .path(path)
                .fold(false)
                .annotation(AnnotationKind::Primary.span(excerpt.range)),
        ),
        None => {
            let origin = Origin::path(path);
            title.element(match note.line {
                Some(line) => origin.line(line as usize),
                None => origin,
            })
        }
    };
    if let Some(help) = note.help {
        group = group.element(Level::HELP.message(escape(help)));
    }
    let renderer = if is_coloured { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

/// The line that a range starts on, made harmless, with the part of the range that lies on it.
struct Excerpt {
    line: String,
    number: usize,
    range: Range<usize>,
}

impl Excerpt {
    /// Returns `None` where the range does not lie in the text: the file has changed since it was judged.
    fn of(text: &str, range: &Range<usize>) -> Option<Self> {
        let before = text.get(..range.start)?;
        let start = before.rfind('\n').map_or(0, |index| index + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let marked = range.start - start..range.end.max(range.start).saturating_sub(start).min(line.len());
        let mut shown = String::new();
        let (mut from, mut to) = (None, None);
        for (index, c) in line.char_indices() {
            if index >= marked.start && from.is_none() {
                from = Some(shown.len());
            }
            if index >= marked.end && to.is_none() {
                to = Some(shown.len());
            }
            if shown.len() >= MAX_LINE_BYTES && index > marked.start {
                shown.push('…');
                break;
            }
            shown.push_str(&harmless(c));
        }
        let from = from.unwrap_or(shown.len());
        let to = to.unwrap_or(shown.len()).max(from);
        Some(Self { line: shown, number: before.matches('\n').count() + 1, range: from..to })
    }
}

fn harmless(c: char) -> Cow<'static, str> {
    if c == '\t' {
        return Cow::Borrowed("    ");
    }
    if c.is_control() || is_invisible(c) {
        return Cow::Borrowed("\u{fffd}");
    }
    Cow::Owned(c.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, range: Range<usize>, expect: Option<(&str, usize, &str)>) {
        let excerpt = Excerpt::of(text, &range);
        let seen = excerpt.as_ref().map(|e| (e.line.as_str(), e.number, &e.line[e.range.clone()]));
        assert_eq!(seen, expect);
    }

    #[test]
    fn excerpts() {
        check("a\nname: x\nb", 8..9, Some(("name: x", 2, "x")));
        check("a\r\nb\r\n", 3..4, Some(("b", 2, "b")));
        check("x\u{1b}y", 1..2, Some(("x\u{fffd}y", 1, "\u{fffd}")));
        check("one\ntwo", 0..7, Some(("one", 1, "one")));
        check("", 0..0, Some(("", 1, "")));
        check("abc", 9..10, None);
        check("ü", 1..2, None);
    }
}
