//! Skill names: the type that is usable as an identity, and the grammars a name can be checked against.
//!
//! The open standard (<https://agentskills.io/specification>) asks for 1-64 characters of `a-z`, `0-9` and
//! single hyphens. A quarter of the public skills break that, so a [`SkillName`] is any text that is safe in
//! a prompt, a command line and a URI segment; [`grammar_faults`] lists its deviations from the standard.

use std::fmt;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use crate::text;

/// The longest name the open standard allows, in characters.
pub const STANDARD_MAX_CHARS: usize = 64;

/// The longest name that is accepted at all, in characters.
pub const USABLE_MAX_CHARS: usize = 128;

/// A name a skill can be addressed by: NFKC, letters, digits, `-`, `_` and `.`, starting with a letter or
/// digit, at most [`USABLE_MAX_CHARS`] characters, every one of them visible.
///
/// It holds no separator of any kind, so it can never be mistaken for a path or for `source:name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(Arc<str>);

impl SkillName {
    /// Returns the name if `text`, trimmed and NFKC-normalised, is usable as it stands.
    ///
    /// ```
    /// use repertoire_model::SkillName;
    /// assert_eq!(SkillName::new(" pdf-forms ").unwrap().as_str(), "pdf-forms");
    /// assert!(SkillName::new("../etc").is_none());
    /// ```
    pub fn new(text: &str) -> Option<Self> {
        usable(text).map(|name| Self(name.into()))
    }

    /// Returns the usable name nearest to `text`: lower case, every run of other characters one hyphen, and
    /// nothing left of what cannot be seen.
    ///
    /// ```
    /// use repertoire_model::SkillName;
    /// assert_eq!(SkillName::slug("My Cool Skill!").unwrap().as_str(), "my-cool-skill");
    /// assert!(SkillName::slug("???").is_none());
    /// ```
    pub fn slug(text: &str) -> Option<Self> {
        let mut slug = String::new();
        let mut length = 0;
        let mut gap = false;
        for c in text.nfkc().flat_map(char::to_lowercase).filter(|c| !is_unseen(*c)) {
            if c.is_alphanumeric() || matches!(c, '_' | '.') || (is_combining_mark(c) && !slug.is_empty()) {
                let separator = usize::from(gap && !slug.is_empty());
                if slug.is_empty() && !c.is_alphanumeric() {
                    continue;
                }
                if length + separator + 1 > STANDARD_MAX_CHARS {
                    break;
                }
                if separator == 1 {
                    slug.push('-');
                }
                slug.push(c);
                length += separator + 1;
                gap = false;
            } else {
                gap = true;
            }
        }
        Self::new(&slug)
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the shared text itself.
    pub fn as_shared(&self) -> &Arc<str> {
        &self.0
    }
}

/// Returns `text`, trimmed and NFKC-normalised, if a skill can be addressed by that.
fn usable(text: &str) -> Option<String> {
    let trimmed = text.trim();
    // In ASCII there is nothing to normalise.
    let normalised = if trimmed.is_ascii() { trimmed.to_owned() } else { trimmed.nfkc().collect() };
    let mut chars = normalised.chars();
    let starts_well = chars.next().is_some_and(|c| c.is_alphanumeric() && !is_unseen(c));
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.') || is_combining_mark(c);
    let is_usable = starts_well
        && chars.all(|c| allowed(c) && !is_unseen(c))
        && normalised.chars().count() <= USABLE_MAX_CHARS;
    is_usable.then_some(normalised)
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl AsRef<str> for SkillName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for SkillName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

crate::words! {
    /// A grammar that names are held against by the rule `name-grammar`.
    Grammar {
        /// The open standard: `a-z`, `0-9`, single inner hyphens, at most 64 characters.
        AgentSkills "agentskills",
        /// `^[a-z][a-z0-9-]*$`.
        Bernstein "bernstein",
        /// Everything that a [`SkillName`] can hold.
        Relaxed "relaxed",
    }
}

impl Grammar {
    /// Returns its names in words: `1 to 64 characters of a-z, 0-9 and single hyphens`.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::AgentSkills => "1 to 64 characters of a-z, 0-9 and single hyphens",
            Self::Bernstein => "a letter of a-z first, then a-z, 0-9 and hyphens",
            Self::Relaxed => "letters, digits, `-`, `_` and `.`, a letter or digit first",
        }
    }
}

/// One way in which a name departs from a [`Grammar`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrammarFault {
    /// Longer than [`STANDARD_MAX_CHARS`]; the field is its length in characters.
    TooLong(usize),
    /// Holds an upper-case letter.
    Uppercase,
    /// Starts or ends with a hyphen.
    EdgeHyphen,
    /// Holds two hyphens in a row.
    DoubleHyphen,
    /// Holds this character, which is not one of `a-z`, `0-9`, `-`.
    Character(char),
    /// Does not start with a letter.
    StartsWithoutLetter,
}

/// Writes it as the end of a sentence about the name: `contains upper-case letters`.
impl fmt::Display for GrammarFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(length) => write!(f, "has {length} characters, more than {STANDARD_MAX_CHARS}"),
            Self::Uppercase => f.write_str("contains upper-case letters"),
            Self::EdgeHyphen => f.write_str("starts or ends with a hyphen"),
            Self::DoubleHyphen => f.write_str("contains two hyphens in a row"),
            Self::Character(c) => write!(f, "contains `{c}`, which is not one of a-z, 0-9 and -"),
            Self::StartsWithoutLetter => f.write_str("does not start with a letter"),
        }
    }
}

/// Returns every way in which `name` departs from `grammar`, in a fixed order.
pub fn grammar_faults(name: &str, grammar: Grammar) -> Vec<GrammarFault> {
    if grammar == Grammar::Relaxed {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let is_standard = grammar == Grammar::AgentSkills;
    let length = name.chars().count();
    if is_standard && length > STANDARD_MAX_CHARS {
        faults.push(GrammarFault::TooLong(length));
    }
    if name.chars().any(char::is_uppercase) {
        faults.push(GrammarFault::Uppercase);
    }
    if is_standard && (name.starts_with('-') || name.ends_with('-')) {
        faults.push(GrammarFault::EdgeHyphen);
    }
    if is_standard && name.contains("--") {
        faults.push(GrammarFault::DoubleHyphen);
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c.is_uppercase();
    if let Some(c) = name.chars().find(|c| !allowed(*c)) {
        faults.push(GrammarFault::Character(c));
    }
    // A letter that is not allowed is reported as such.
    if grammar == Grammar::Bernstein && !name.starts_with(char::is_alphabetic) {
        faults.push(GrammarFault::StartsWithoutLetter);
    }
    faults
}

fn is_combining_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Some letters and marks show nothing, so a name that held one could be passed off as another.
fn is_unseen(c: char) -> bool {
    text::is_invisible(c) || text::is_variation_selector(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_names_are_kept_as_they_are() {
        for name in ["git", "file_ops", "a.b", "MySkill", "мой-навык", "技能", "x--1", "9lives"] {
            assert_eq!(SkillName::new(name).unwrap().as_str(), name);
        }
        assert_eq!(SkillName::new("cafe\u{301}").unwrap().as_str(), "café");
    }

    #[test]
    fn unusable_names_are_refused() {
        for name in ["", " ", "-x", ".hidden", "a b", "a/b", "..", "a:b", "a\0b", "a\u{200b}b", "a\u{202e}b"]
        {
            assert!(SkillName::new(name).is_none(), "{name:?}");
        }
        assert!(SkillName::new(&"a".repeat(129)).is_none());
    }

    #[test]
    fn names_that_only_look_like_another_are_refused() {
        for c in
            ['\u{34f}', '\u{115f}', '\u{1160}', '\u{3164}', '\u{180b}', '\u{fe00}', '\u{fe0f}', '\u{e0100}']
        {
            assert!(SkillName::new(&format!("git{c}")).is_none(), "{c:?}");
            assert!(SkillName::new(&format!("{c}git")).is_none(), "{c:?}");
            assert_eq!(SkillName::slug(&format!("gi{c}t{c}")).unwrap().as_str(), "git", "{c:?}");
            assert_eq!(SkillName::slug(&c.to_string()), None, "{c:?}");
        }
    }

    #[test]
    fn slugs() {
        let slug = |text: &str| SkillName::slug(text).map(|n| n.to_string());
        assert_eq!(slug("PDF  Forms / v2").as_deref(), Some("pdf-forms-v2"));
        assert_eq!(slug("--x--").as_deref(), Some("x"));
        assert_eq!(slug("../../etc/passwd").as_deref(), Some("etc-passwd"));
        assert_eq!(slug("\u{200b}"), None);
        assert_eq!(slug(&"ab ".repeat(60)).unwrap().chars().count(), 64);
    }

    #[test]
    fn grammar_faults_name_every_departure() {
        use GrammarFault::*;
        let faults = |name: &str| grammar_faults(name, Grammar::AgentSkills);
        assert_eq!(faults("pdf-forms"), []);
        assert_eq!(faults("1password"), []);
        assert_eq!(faults("MySkill"), [Uppercase]);
        assert_eq!(faults("my_skill"), [Character('_')]);
        assert_eq!(faults("-a--b"), [EdgeHyphen, DoubleHyphen]);
        assert_eq!(faults(&"a".repeat(65)), [TooLong(65)]);
        assert_eq!(faults(&"a".repeat(64)), []);
        assert_eq!(faults("技能"), [Character('技')]);
        let b12 = |name: &str| grammar_faults(name, Grammar::Bernstein);
        assert_eq!(b12("1password"), [StartsWithoutLetter]);
        assert_eq!(b12("_a"), [Character('_'), StartsWithoutLetter]);
        assert_eq!(b12("A"), [Uppercase]);
        assert_eq!(b12("é"), [Character('é')]);
        assert_eq!(grammar_faults("My_Skill", Grammar::Relaxed), []);
    }

    #[test]
    fn b12_names_of_role_packs_match_the_regular_expression_as_written() {
        use GrammarFault::*;
        let faults = |name: &str| grammar_faults(name, Grammar::Bernstein);
        for name in ["a", "a--b", "a-", "a1-", &"a".repeat(100)] {
            assert_eq!(faults(name), [], "{name}");
        }
        assert_eq!(faults("1a"), [StartsWithoutLetter]);
        assert_eq!(faults("a_b"), [Character('_')]);
        assert_eq!(faults("aB"), [Uppercase]);
        assert_eq!(faults("Ab"), [Uppercase], "it starts with a letter");
        assert_eq!(faults("é"), [Character('é')]);
    }
}
