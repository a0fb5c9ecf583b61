//! Patterns of schemas, in time that grows with the text and not beyond.

use std::collections::HashMap;

use regex_lite::{Regex, RegexBuilder};

/// The longest pattern that is understood, in bytes.
const MAX_PATTERN_BYTES: usize = 1000;
/// The largest program that a pattern may become, in bytes.
const MAX_PROGRAM_BYTES: usize = 64 << 10;
/// The most text that all patterns of one check are held against, in bytes.
const MAX_MATCHED_BYTES: usize = 1 << 20;

/// Returns the regular expression for `pattern`, if it is supported: no look-around, no back references, no
/// classes of Unicode.
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return None;
    }
    RegexBuilder::new(pattern).size_limit(MAX_PROGRAM_BYTES).build().ok()
}

#[derive(Default)]
pub(super) struct Patterns<'s> {
    known: HashMap<&'s str, Option<Regex>>,
    matched: usize,
}

/// The result of matching a text against a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    No,
    /// The pattern is not supported. The check of the skill reports that; here it allows everything.
    NotUnderstood,
    /// There was too much text already.
    TooMuch,
}

impl<'s> Patterns<'s> {
    /// Matches `pattern` anywhere in `text`.
    pub(super) fn find(&mut self, pattern: &'s str, text: &str) -> Match {
        let Some(regex) = self.known.entry(pattern).or_insert_with(|| compile(pattern)) else {
            return Match::NotUnderstood;
        };
        self.matched = self.matched.saturating_add(text.len() + 1);
        if self.matched > MAX_MATCHED_BYTES {
            Match::TooMuch
        } else if regex.is_match(text) {
            Match::Yes
        } else {
            Match::No
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_anywhere_and_unsupported_ones_are_reported() {
        let mut patterns = Patterns::default();
        assert_eq!(patterns.find("b+", "abba"), Match::Yes);
        assert_eq!(patterns.find("^b+$", "abba"), Match::No);
        assert_eq!(patterns.find(r"^[\w./-]+\/\d{2}$", "a/b-c/42"), Match::Yes);
        for pattern in ["(?=a)", r"(a)\1", r"\p{L}", "(", "(a{1000}){1000}", &"a".repeat(1001)] {
            assert!(compile(pattern).is_none(), "{pattern}");
        }
        // A pattern that takes other engines exponential time.
        assert_eq!(patterns.find("^(a+)+$", &format!("{}b", "a".repeat(50_000))), Match::No);
        assert_eq!(patterns.find("x", &"a".repeat(2 << 20)), Match::TooMuch);
    }
}
