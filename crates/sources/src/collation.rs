//! The order in which `npx skills` hashes the files of a skill.

use std::cmp::Ordering;

/// The order of ASCII characters in the root collation of Unicode, by which JavaScript's `localeCompare`
/// sorts. A letter sorts before its capital, and only where nothing else differs.
const ORDER: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz";

/// Returns `true` if the place of `text` does not depend on the locale, as that of non-ASCII characters does.
pub(crate) fn is_collated(text: &str) -> bool {
    text.chars().all(|letter| weight(letter).is_some())
}

/// Compares two texts by the root collation. Characters outside of ASCII come last.
pub(crate) fn collate(a: &str, b: &str) -> Ordering {
    let weights = |text: &str| {
        text.chars().map(|letter| weight(letter).unwrap_or(ORDER.len() + letter as usize)).collect::<Vec<_>>()
    };
    let capitals = |text: &str| text.chars().map(|letter| letter.is_ascii_uppercase()).collect::<Vec<_>>();
    weights(a).cmp(&weights(b)).then_with(|| capitals(a).cmp(&capitals(b)))
}

fn weight(letter: char) -> Option<usize> {
    ORDER.find(letter.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_sorted_as_by_locale_compare() {
        // As node sorts them.
        let expect =
            ["a_b.md", "a-b.md", "a.md", "a/z.md", "a1.md", "ab.md", "Ab.md", "SKILL.md", "t/B.md", "t/c.md"];
        let mut sorted = expect.to_vec();
        sorted.reverse();
        sorted.sort_by(|a, b| collate(a, b));
        assert_eq!(sorted, expect);
        assert!(is_collated("a b/C.md") && !is_collated("ä.md"));
    }
}
