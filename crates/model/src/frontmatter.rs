//! Finds the frontmatter of a `SKILL.md`: the YAML between two fences that each have a line to themselves.

/// The largest frontmatter, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;

/// The byte order mark some editors put first.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The division of a text into frontmatter and body. All offsets are bytes of the whole text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division<'a> {
    /// Two fences were found.
    Fenced(FencedFrontmatter<'a>),
    /// No line opens a frontmatter; everything is body.
    Bare {
        /// The start of the body: after a byte order mark, if there is one.
        body: usize,
    },
    /// A fence opens the frontmatter on this line and nothing closes it.
    Unterminated {
        /// The offset of the opening fence.
        opening: usize,
        /// The offset of a line that looks like a closing fence but does not close.
        near_miss: Option<usize>,
    },
}

/// A frontmatter between its fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FencedFrontmatter<'a> {
    /// The YAML between the fences.
    pub yaml: &'a str,
    /// The start of the YAML.
    pub offset: usize,
    /// The start of the body.
    pub body: usize,
    /// True if blank lines or comments stand before the opening fence.
    pub has_prelude: bool,
}

/// Divides `text` at its fences.
///
/// A fence is a line of exactly three hyphens; blanks may follow. A line ends with LF, CR LF or CR.
pub fn divide(text: &str) -> Division<'_> {
    let start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let mut lines = Lines::new(text, start);
    let mut has_prelude = false;
    let opening = loop {
        let Some(line) = lines.next() else { return Division::Bare { body: start } };
        if is_fence(line.text) {
            break line;
        }
        if !is_prelude(line.text) {
            return Division::Bare { body: start };
        }
        has_prelude = true;
    };
    let offset = lines.offset;
    let mut near_miss = None;
    while let Some(line) = lines.next() {
        if is_fence(line.text) {
            let yaml = &text[offset..line.start];
            return Division::Fenced(FencedFrontmatter { yaml, offset, body: lines.offset, has_prelude });
        }
        if near_miss.is_none() && is_nearly_fence(line.text) {
            near_miss = Some(line.start);
        }
    }
    Division::Unterminated { opening: opening.start, near_miss }
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.bytes().all(|b| matches!(b, b' ' | b'\t')))
}

/// Blank lines and one-line comments before the opening fence are common slips.
fn is_prelude(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || (line.starts_with("<!--") && line.ends_with("-->"))
}

fn is_nearly_fence(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 2 && line.chars().all(|c| matches!(c, '-' | '–' | '—'))
}

/// The lines of a text from an offset on; a line ends with LF, CR LF or CR.
pub(crate) struct Lines<'a> {
    text: &'a str,
    offset: usize,
}

pub(crate) struct Line<'a> {
    pub(crate) start: usize,
    pub(crate) text: &'a str,
    /// Its line end; the last line of a text may lack it.
    pub(crate) ending: &'a str,
}

impl<'a> Lines<'a> {
    /// Returns the lines of `text` from the byte at `offset` on.
    pub(crate) fn new(text: &'a str, offset: usize) -> Self {
        Self { text, offset }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = &self.text[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let start = self.offset;
        let (text, ending) = match memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
            None => (rest, 0),
            Some(end) if rest[end..].starts_with("\r\n") => (&rest[..end], 2),
            Some(end) => (&rest[..end], 1),
        };
        let ending = &rest[text.len()..text.len() + ending];
        self.offset += text.len() + ending.len();
        Some(Line { start, text, ending })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, yaml: &str, body: &str) {
        let Division::Fenced(fenced) = divide(text) else { panic!("{text:?}: {:?}", divide(text)) };
        assert_eq!((fenced.yaml, &text[fenced.body..]), (yaml, body), "{text:?}");
        assert_eq!(&text[fenced.offset..fenced.offset + yaml.len()], yaml);
    }

    #[test]
    fn fences_stand_on_lines_of_their_own() {
        check("---\nname: x\n---\nbody\n", "name: x\n", "body\n");
        check("---\nname: x\n---", "name: x\n", "");
        check("---\n---\n", "", "");
        check("\u{feff}---\nname: x\n---\nbody", "name: x\n", "body");
        check("---\r\nname: x\r\n---\r\nbody\r\n", "name: x\r\n", "body\r\n");
        check("---\rname: x\r---\rbody", "name: x\r", "body");
        check("--- \t\nname: x\n---  \nbody", "name: x\n", "body");
        check("---\ndescription: a --- b\n---\nbody", "description: a --- b\n", "body");
        check("---\nd: |\n  ---\n---\nx\n---\ny", "d: |\n  ---\n", "x\n---\ny");
    }

    #[test]
    fn blank_lines_and_comments_may_come_first() {
        check("\n\n---\nname: x\n---\nb", "name: x\n", "b");
        check("<!-- made by hand -->\n---\nname: x\n---\nb", "name: x\n", "b");
        assert!(matches!(
            divide("\n---\na: b\n---\n"),
            Division::Fenced(FencedFrontmatter { has_prelude: true, .. })
        ));
    }

    #[test]
    fn other_texts_have_no_frontmatter() {
        for text in
            ["", "# Title\n", "text\n---\nname: x\n---\n", "----\nname: x\n----\n", "---yaml\nname: x\n---\n"]
        {
            assert_eq!(divide(text), Division::Bare { body: 0 }, "{text:?}");
        }
        assert_eq!(divide("\u{feff}# T"), Division::Bare { body: 3 });
    }

    #[test]
    fn an_unterminated_frontmatter_has_its_near_miss() {
        assert_eq!(divide("---\nname: x\n"), Division::Unterminated { opening: 0, near_miss: None });
        assert_eq!(
            divide("---\nname: x\n----\nbody"),
            Division::Unterminated { opening: 0, near_miss: Some(12) }
        );
        assert_eq!(
            divide("---\nname: x\n ---\nbody"),
            Division::Unterminated { opening: 0, near_miss: Some(12) }
        );
    }
}
