//! Findings with the line of source they are about, as compilers show them.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use repertoire_model::Severity;
use repertoire_model::text::is_control_or_invisible;

use super::escape::escape;
use super::wrap::wrap;

/// The most bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 240;

/// The fewest bytes of a line that are shown, however narrow the screen is.
const MIN_LINE_BYTES: usize = 20;

/// The columns before a line of source: a line number of up to four digits, and the sign that it goes on.
const LINE_INDENT: usize = "1234 | ".len() + "…".len();

/// The columns before the text of a help, with line numbers of up to four digits.
const HELP_INDENT: usize = "     = help: ".len();

/// A finding to be shown.
#[derive(Debug, Clone)]
pub(crate) struct Note<'a> {
    /// Its severity.
    pub severity: Severity,
    /// The rule that found it, shown in brackets.
    pub rule: Option<&'a str>,
    /// Its message.
    pub message: &'a str,
    /// The advice on what to do about it.
    pub help: Option<&'a str>,
    /// The file it is about, as a person would name it.
    pub path: &'a str,
    /// The text of that file, and the bytes the finding is about.
    pub place: Option<(&'a str, Range<usize>)>,
    /// The line, where the text cannot be shown.
    pub line: Option<u32>,
}

/// Returns `note` as text that ends with a line end, for a screen of `width` columns.
pub(crate) fn render(note: &Note<'_>, width: usize, is_coloured: bool) -> String {
    let level = match note.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    // Behind `warning[rule]: `, where the following lines begin too.
    let indent = "warning: ".len() + note.rule.map_or(0, |rule| rule.len() + "[]".len());
    let mut title = level.primary_title(wrap(&escape(note.message), width.saturating_sub(indent)));
    if let Some(rule) = note.rule {
        title = title.id(rule);
    }
    let path = escape(note.path);
    let room = width.saturating_sub(LINE_INDENT).clamp(MIN_LINE_BYTES, MAX_LINE_BYTES);
    let mut group = match note.place.as_ref().and_then(|(text, range)| Excerpt::of(text, range, room)) {
        Some(excerpt) => {
            let snippet = Snippet::source(excerpt.line)
                .line_start(excerpt.number)
                .fold(false)
                .annotation(AnnotationKind::Primary.span(excerpt.range));
            match excerpt.column {
                // The position is given in full, because the excerpt does not start where the line does.
                Some(column) => title
                    .element(Origin::path(path).line(excerpt.number).char_column(column))
                    .element(snippet),
                None => title.element(snippet.path(path)),
            }
        }
        None => {
            let origin = Origin::path(path);
            title.element(match note.line {
                Some(line) => origin.line(line as usize),
                None => origin,
            })
        }
    };
    if let Some(help) = note.help {
        let width = width.saturating_sub(HELP_INDENT);
        group = group.element(Level::HELP.message(wrap(&escape(help), width)));
    }
    let renderer = if is_coloured { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(width.min(MAX_LINE_BYTES));
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

/// The line that a range starts on, made harmless, with the part of the range that lies on it.
struct Excerpt {
    line: String,
    number: usize,
    range: Range<usize>,
    /// The column of the mark, counted in characters from 1, where the beginning of the line is left out.
    column: Option<usize>,
}

impl Excerpt {
    /// Returns an excerpt with about `room` bytes of the line, or `None` if the text has changed since.
    fn of(text: &str, range: &Range<usize>, room: usize) -> Option<Self> {
        let before = text.get(..range.start)?;
        let start = before.rfind('\n').map_or(0, |index| index + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let marked = range.start - start..range.end.max(range.start).saturating_sub(start).min(line.len());
        let first = first_shown(line, marked.start, room);
        let mut shown = String::from(if first > 0 { "…" } else { "" });
        let (mut from, mut to) = (None, None);
        for (index, c) in line.char_indices().skip_while(|(index, _)| *index < first) {
            if index >= marked.start && from.is_none() {
                from = Some(shown.len());
            }
            if index >= marked.end && to.is_none() {
                to = Some(shown.len());
            }
            if shown.len() >= room {
                to = to.or(Some(shown.len()));
                shown.push('…');
                break;
            }
            shown.push_str(&harmless(c));
        }
        let from = from.unwrap_or(shown.len());
        let to = to.unwrap_or(shown.len()).max(from);
        let column = (first > 0).then(|| line[..marked.start].chars().count() + 1);
        Some(Self { line: shown, number: before.matches('\n').count() + 1, range: from..to, column })
    }
}

/// Returns the first byte of `line` to show, so that the byte at `mark` is among those shown.
fn first_shown(line: &str, mark: usize, room: usize) -> usize {
    if line.len() <= room {
        return 0;
    }
    let wanted = mark.saturating_sub(room / 3);
    (0..=wanted).rev().find(|index| line.is_char_boundary(*index)).unwrap_or(0)
}

fn harmless(c: char) -> Cow<'static, str> {
    if c == '\t' {
        return Cow::Borrowed("    ");
    }
    if is_control_or_invisible(c) {
        return Cow::Borrowed("\u{fffd}");
    }
    Cow::Owned(c.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, range: Range<usize>, expect: Option<(&str, usize, &str)>) {
        let excerpt = Excerpt::of(text, &range, MAX_LINE_BYTES);
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

    #[test]
    fn lines_of_source_fit_the_screen() {
        let text = format!("{} [a](b.md) {}\n", "x ".repeat(60), "y ".repeat(60));
        for start in [0, 60, 121, 200] {
            let note = Note {
                severity: Severity::Error,
                rule: None,
                message: "it is marked",
                help: None,
                path: "file",
                place: Some((&text, start..text.len())),
                line: None,
            };
            let rendered = render(&note, 80, false);
            assert!(rendered.lines().all(|line| line.chars().count() <= 80), "{rendered}");
        }
    }

    #[test]
    fn long_lines_are_shown_around_the_mark() {
        let text = format!("x\n{}MARK{}\n", "ä\t".repeat(100_000), "\u{1b}".repeat(100_000));
        let start = text.find("MARK").unwrap();
        let excerpt = Excerpt::of(&text, &(start..start + 4), MAX_LINE_BYTES).unwrap();
        assert_eq!(&excerpt.line[excerpt.range.clone()], "MARK");
        assert!(excerpt.line.len() < 2 * MAX_LINE_BYTES, "{}", excerpt.line.len());
        assert!(excerpt.line.starts_with('…') && excerpt.line.ends_with('…'), "{}", excerpt.line);
        assert_eq!((excerpt.number, excerpt.column), (2, Some(200_001)));
        let whole = Excerpt::of(&text, &(2..text.len()), MAX_LINE_BYTES).unwrap();
        assert!(whole.line.len() < 2 * MAX_LINE_BYTES && whole.column.is_none());
        let note = Note {
            severity: Severity::Error,
            rule: None,
            message: "it is marked",
            help: None,
            path: "file",
            place: Some((&text, start..start + 4)),
            line: None,
        };
        let rendered = render(&note, usize::MAX, false);
        assert!(rendered.contains("--> file:2:200001\n"), "{rendered}");
        assert!(rendered.contains("^^^^\n") && rendered.len() < 2000, "{rendered}");
    }
}
