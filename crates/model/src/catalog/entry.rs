//! What goes into the catalog, and how it is made fit to stand there: one line, visible characters only, sorted.

use std::borrow::Cow;
use std::collections::HashSet;

use super::options::{CatalogError, CatalogOptions, Format};
use crate::text::{is_invisible, nearest};

/// The longest description that is shown whole, in characters: twice what the open standard allows.
///
/// A longer one ends in an ellipsis, even without a budget.
pub const MAX_DESCRIPTION_CHARS: usize = 2_048;

/// A skill as the catalog sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogEntry<'a> {
    /// The name the skill is loaded by.
    pub name: &'a str,
    /// What the skill does and when to use it, as its author wrote it.
    pub description: &'a str,
    /// Where its `SKILL.md` lies; only [`Format::Compat`] shows it.
    pub location: Option<&'a str>,
}

/// An entry that is ready to be written.
pub(super) struct Item<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) description: Cow<'a, str>,
    pub(super) location: Option<&'a str>,
    pub(super) primary: bool,
    pub(super) loaded: bool,
    pub(super) clipped: bool,
}

/// Returns the entries in the order of the text, the highlighted one first.
pub(super) fn prepare<'a>(
    entries: &[CatalogEntry<'a>],
    options: &CatalogOptions,
) -> Result<Vec<Item<'a>>, CatalogError> {
    let mut sorted = entries.to_vec();
    sorted.sort_unstable();
    if options.format == Format::Compat
        && let Some(entry) = sorted.iter().find(|entry| entry.location.is_none())
    {
        return Err(CatalogError::MissingLocation { name: entry.name.to_owned() });
    }
    if let Some(name) = options.highlight.as_deref() {
        let Some(position) = sorted.iter().position(|entry| entry.name == name) else {
            let nearest = nearest(name, sorted.iter().map(|entry| entry.name)).map(str::to_owned);
            return Err(CatalogError::UnknownHighlight { name: name.to_owned(), nearest });
        };
        sorted[..=position].rotate_right(1);
    }
    let loaded: HashSet<&str> = options.loaded.iter().map(String::as_str).collect();
    let item = |(index, entry): (usize, CatalogEntry<'a>)| {
        let (description, clipped) = clip(flatten(entry.description));
        Item {
            name: flatten(entry.name),
            description,
            location: entry.location,
            primary: index == 0 && options.highlight.is_some(),
            loaded: !loaded.is_empty() && loaded.contains(entry.name),
            clipped,
        }
    };
    Ok(sorted.into_iter().enumerate().map(item).collect())
}

/// Returns `text` on one line: white space as single blanks, and nothing that cannot be seen.
pub(super) fn flatten(text: &str) -> Cow<'_, str> {
    if is_flat(text) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = true;
        } else if !is_dropped(c) {
            if gap && !line.is_empty() {
                line.push(' ');
            }
            gap = false;
            line.push(c);
        }
    }
    Cow::Owned(line)
}

/// Returns whether [`flatten`] would change nothing.
fn is_flat(text: &str) -> bool {
    let mut after_blank = true;
    let plain = text.bytes().all(|byte| {
        let doubled = byte == b' ' && after_blank;
        after_blank = byte == b' ';
        byte >= b' ' && byte != 0x7F && !doubled
    });
    let trimmed = text.is_empty() || !after_blank;
    let visible = |c: char| c == ' ' || c.is_ascii() || !(c.is_whitespace() || is_dropped(c));
    plain && trimmed && (text.is_ascii() || text.chars().all(visible))
}

fn is_dropped(c: char) -> bool {
    c.is_control() || is_invisible(c) || is_noncharacter(c)
}

/// Returns whether `c` is reserved for internal use by Unicode; XML forbids some of these.
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{FDD0}'..='\u{FDEF}') || u32::from(c) & 0xFFFE == 0xFFFE
}

/// Returns `text` cut to [`MAX_DESCRIPTION_CHARS`], and whether it was cut.
fn clip(text: Cow<'_, str>) -> (Cow<'_, str>, bool) {
    if text.len() <= MAX_DESCRIPTION_CHARS || text.chars().count() <= MAX_DESCRIPTION_CHARS {
        return (text, false);
    }
    (Cow::Owned(crate::text::shorten(&text, MAX_DESCRIPTION_CHARS)), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_text_is_borrowed() {
        for text in ["", "a", "a b.", "naïve 技能 — ok"] {
            assert!(matches!(flatten(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn everything_else_becomes_one_visible_line() {
        let check = |text: &str, expected: &str| assert_eq!(flatten(text), expected, "{text:?}");
        check(" a ", "a");
        check("a\r\n\tb", "a b");
        check("a\u{2028}b\u{85}c\u{3000}d\u{b}e", "a b c d e");
        check("a \u{200b} b", "a b");
        check("\u{1b}[31mred\u{1b}[0m\0\u{7f}\u{9b}", "[31mred[0m");
        check("\u{202e}lived\u{2066}\u{feff}\u{e0041}", "lived");
        check("a\u{ffff}\u{fdd0}\u{1fffe}b", "ab");
        check("\n\u{200b}\n", "");
    }

    #[test]
    fn a_description_is_bounded_in_characters() {
        let whole = "ü".repeat(MAX_DESCRIPTION_CHARS);
        assert_eq!(clip(whole.as_str().into()), (whole.as_str().into(), false));
        let (cut, clipped) = clip("ü".repeat(MAX_DESCRIPTION_CHARS + 1).into());
        assert!(clipped && cut.ends_with("ü…"));
        assert_eq!(cut.chars().count(), MAX_DESCRIPTION_CHARS);
    }
}
