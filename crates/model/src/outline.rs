//! The sections of a skill's instructions, so that a model can read one of them without the others.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

/// A section of a skill's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Its level: 1 for `#`.
    pub level: u8,
    /// Its first line in `SKILL.md`, counted from 1.
    pub first_line: usize,
    /// Its last line, that of its last sub-section.
    pub last_line: usize,
    /// The number of its tokens, sub-sections included.
    pub tokens: usize,
}

/// The most sections of an outline; where there are more, the deepest levels are left out first.
pub const MAX_SECTIONS: usize = 40;

/// Returns the sections of the instructions that start at byte `body_offset` of a `SKILL.md`, in order.
///
/// Lines count in the whole file; `price` says how many tokens a text has. A section lasts until the next
/// heading of its level or a higher one, so it holds its sub-sections. Text without headings has no outline.
///
/// ```
/// use repertoire_model::outline::outline;
/// let text = "---\nname: x\n---\n# Guide\n\n## First\nText.\n";
/// let sections = outline(text, 16, str::len);
/// assert_eq!((sections[1].title.as_str(), sections[1].first_line, sections[1].last_line), ("First", 6, 7));
/// ```
pub fn outline(text_of_skill_md: &str, body_offset: usize, price: impl Fn(&str) -> usize) -> Vec<Section> {
    let Some((before, body)) = text_of_skill_md.split_at_checked(body_offset) else { return Vec::new() };
    let mut headings = headings(body);
    let ends = ends(&headings, body.len());
    let level = deepest_level(&headings);
    let mut lines = LineCount { text: body, offset: 0, line: 1 + count_lines(before) };
    let mut sections = Vec::new();
    for (heading, end) in headings.drain(..).zip(ends) {
        let first_line = lines.at(heading.offset);
        if heading.level > level || sections.len() == MAX_SECTIONS {
            continue;
        }
        let content = &body[heading.offset..end];
        // The end is the start of a line, or the end of a text whose last line may lack its line end.
        let open_line = usize::from(!content.ends_with('\n'));
        let last_line = (first_line + count_lines(content) + open_line).saturating_sub(1).max(first_line);
        let Heading { title, level, .. } = heading;
        sections.push(Section { title, level, first_line, last_line, tokens: price(content) });
    }
    sections
}

/// A heading of a Markdown text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Its text, without markup.
    pub title: String,
    /// Its level: 1 for `#`.
    pub level: u8,
    /// The offset of its line.
    pub offset: usize,
}

/// Returns the headings of `body` in order, except those in code, quotes or lists.
pub fn headings(body: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut open: Option<Heading> = None;
    let mut depth = 0usize;
    for (event, range) in Parser::new(body).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::List(_)) => depth += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_)) => depth = depth.saturating_sub(1),
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                let offset = body[..range.start].rfind('\n').map_or(0, |index| index + 1);
                open = Some(Heading { title: String::new(), level: number(level), offset });
            }
            Event::End(TagEnd::Heading(_)) => headings.extend(open.take()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut open {
                    heading.title.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut open {
                    heading.title.push(' ');
                }
            }
            _ => {}
        }
    }
    headings
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Returns the end of each section: the next heading that is not deeper, found in one pass from the back.
fn ends(headings: &[Heading], length: usize) -> Vec<usize> {
    let mut next = [length; 7];
    let mut ends = vec![length; headings.len()];
    for (heading, end) in headings.iter().zip(&mut ends).rev() {
        let level = usize::from(heading.level);
        *end = next[..=level].iter().copied().min().unwrap_or(length);
        next[level] = heading.offset;
    }
    ends
}

/// Returns the deepest level for which the headings up to it number at most [`MAX_SECTIONS`].
///
/// The highest level present stays even if it has more; its first sections are kept.
fn deepest_level(headings: &[Heading]) -> u8 {
    let highest = headings.iter().map(|heading| heading.level).min().unwrap_or(1);
    let fits = |level: &u8| headings.iter().filter(|heading| heading.level <= *level).count() <= MAX_SECTIONS;
    (highest..=6).rev().find(fits).unwrap_or(highest)
}

fn count_lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// Counts lines up to places that come in order.
struct LineCount<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

impl LineCount<'_> {
    fn at(&mut self, offset: usize) -> usize {
        self.line += count_lines(&self.text[self.offset..offset]);
        self.offset = offset;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRONT: &str = "---\nname: x\n---\n";

    fn check(body: &str, expect: &[&str]) {
        let text = format!("{FRONT}{body}");
        let found = outline(&text, FRONT.len(), str::len);
        let shown: Vec<String> = found
            .iter()
            .map(|section| {
                let marks = "#".repeat(usize::from(section.level));
                format!("{}-{} {marks} {}", section.first_line, section.last_line, section.title)
            })
            .collect();
        assert_eq!(shown, expect, "{body}");
        for section in found {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let content = lines[section.first_line - 1..section.last_line].concat();
            assert_eq!(content.len(), section.tokens, "these are the lines that were priced");
        }
    }

    #[test]
    fn sections_hold_their_sub_sections() {
        check("", &[]);
        check("No heading.\n", &[]);
        check("# A", &["4-4 # A"]);
        check(
            "Intro\n\n# A\ntext\n## B\ntext\n\n### C\n## D\n\n# E `code` *x*\nend",
            &["6-13 # A", "8-11 ## B", "11-11 ### C", "12-13 ## D", "14-15 # E code x"],
        );
    }

    #[test]
    fn only_headings_count() {
        check(
            "# A\n```sh\n# no\n```\n\n    # no\n\n> # no\n\n- # no\n\n<!--\n# no\n-->\n\nTitle\nof two\n===\n\nSub\n---\n#no\n",
            &["4-18 # A", "19-25 # Title of two", "23-25 ## Sub"],
        );
        check("# A\r\ntext\r\n## B\r\n", &["4-6 # A", "6-6 ## B"]);
        check("   # Indented\n", &["4-4 # Indented"]);
    }

    #[test]
    fn outlines_are_bounded_from_below() {
        let body = "# A\n".to_owned() + &"## B\n### C\n".repeat(30);
        let found = outline(&body, 0, str::len);
        assert_eq!(found.len(), 31);
        assert!(found.iter().all(|section| section.level < 3));
        let body = "# A\n".repeat(MAX_SECTIONS + 9);
        assert_eq!(outline(&body, 0, str::len).len(), MAX_SECTIONS);
    }

    #[test]
    fn an_offset_that_is_none_gives_no_outline() {
        assert_eq!(outline("# A", 9, str::len), []);
        assert_eq!(outline("ü# A", 1, str::len), []);
    }
}
