//! Catalog entries: descriptions on one line, with visible characters only, sorted by name.

use std::borrow::Cow;
use std::collections::HashSet;

use super::options::{CatalogError, CatalogOptions, Format};
use crate::text::{is_control_or_invisible, is_noncharacter, is_variation_selector, nearest};

/// The longest description that is shown whole, in characters: twice what the open standard allows.
///
/// A longer one ends in an ellipsis, even without a budget.
pub const MAX_DESCRIPTION_CHARS: usize = 2_048;

/// A skill as the catalog sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogEntry<'a> {
    /// The name the skill is loaded by.
    pub name: &'a str,
    /// The description, as the author wrote it.
    pub description: &'a str,
    /// The path of its `SKILL.md`; only [`Format::Compat`] shows it.
    pub location: Option<&'a str>,
}

/// An entry that is ready to be written.
pub(super) struct Item<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) description: String,
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
            name: shown_name(entry.name),
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
pub(crate) fn flatten(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() && word.contains(is_kept) {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| is_kept(*c)));
    }
    line
}

/// Returns whether `c` is a blank, or neither white space nor dropped.
#[inline]
fn is_kept(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{A1}'..='\u{AC}' | '\u{AE}'..='\u{34E}' | '\u{3400}'..='\u{9FFF}')
        || !(c.is_whitespace() || is_dropped(c))
}

fn is_dropped(c: char) -> bool {
    is_control_or_invisible(c) || is_noncharacter(c)
}

/// Returns `name` with invisible characters written out as `\u{..}`.
///
/// A [`SkillName`](crate::SkillName) comes back as it is. Any other text stays different from every other
/// name: dropping characters would make two names one.
pub(crate) fn shown_name(name: &str) -> Cow<'_, str> {
    let is_shown = |c: char| c != '\\' && is_kept(c) && !is_variation_selector(c);
    if name.chars().all(is_shown) {
        return Cow::Borrowed(name);
    }
    let mut shown = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        if is_shown(c) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    Cow::Owned(shown)
}

/// Returns `text` cut to [`MAX_DESCRIPTION_CHARS`], and whether it was cut.
fn clip(text: String) -> (String, bool) {
    let clipped = crate::text::shorten(&text, MAX_DESCRIPTION_CHARS);
    let is_clipped = clipped != text;
    (clipped, is_clipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_text_is_borrowed() {
        for text in ["", "a", "a b.", "naïve 技能 — ok"] {
            assert_eq!(flatten(text), text);
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
    fn different_names_stay_different() {
        assert!(matches!(shown_name("git-2.技能"), Cow::Borrowed("git-2.技能")));
        let names =
            ["git", "git\u{34f}", "git\u{200b}", "git\u{fe0f}", "git\n", "git ", "git\\u{a}", "git\\"];
        let shown: HashSet<Cow<'_, str>> = names.into_iter().map(shown_name).collect();
        assert_eq!(shown.len(), names.len(), "{shown:?}");
        assert!(shown.iter().all(|name| !name.contains(['\n', '\u{200b}', '\u{fe0f}'])), "{shown:?}");
    }

    #[test]
    fn the_common_characters_are_kept() {
        let flat = |c: char| flatten(c.encode_utf8(&mut [0; 4])).starts_with(c);
        assert!(('!'..=char::MAX).all(|c| is_kept(c) == flat(c)));
    }

    #[test]
    fn a_description_is_bounded_in_characters() {
        let whole = "ü".repeat(MAX_DESCRIPTION_CHARS);
        assert_eq!(clip(whole.as_str().into()), (whole.as_str().into(), false));
        let (cut, clipped) = clip("ü".repeat(MAX_DESCRIPTION_CHARS + 1));
        assert!(clipped && cut.ends_with("ü…"));
        assert_eq!(cut.chars().count(), MAX_DESCRIPTION_CHARS);
    }
}
