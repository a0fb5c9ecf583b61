//! Scopes: patterns that allow and deny an agent to see skills.

use std::fmt;

use unicode_normalization::UnicodeNormalization;

/// The longest pattern, in characters: room for the longest name and a long source.
pub const MAX_PATTERN_CHARS: usize = 512;

/// A glob over the names of skills, or over `source:name`.
///
/// `*` stands for any run of characters, `?` for any one. A pattern with a colon is split at its last one:
/// the first part is held against the source, the second against the name. Without it any source matches.
///
/// ```
/// use repertoire_model::scope::Pattern;
/// assert!(Pattern::new("pdf-*")?.matches("project:.agents/skills", "pdf-forms"));
/// assert!(Pattern::new("project:*:pdf-*")?.matches("project:.agents/skills", "pdf-forms"));
/// assert!(!Pattern::new("user:*:*")?.matches("project:.agents/skills", "pdf-forms"));
/// # Ok::<(), repertoire_model::scope::PatternFault>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    source: Option<Box<str>>,
    name: Box<str>,
    /// True if the name is that of a tag. Only [`Pattern::for_scope`] returns such a pattern.
    is_tag: bool,
}

/// The start of a pattern over tags.
const TAG: &str = "tag=";

/// The reason why a text is not a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternFault {
    /// It is empty, or has nothing before or after the colon, and so could match nothing.
    Empty,
    /// It has more than [`MAX_PATTERN_CHARS`] characters.
    TooLong,
    /// Its part for the name holds this character, which no name can hold, and so could match nothing.
    Character(char),
}

impl fmt::Display for PatternFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty and matches nothing"),
            Self::TooLong => write!(f, "it has more than {MAX_PATTERN_CHARS} characters"),
            Self::Character(c) => write!(f, "no skill's name contains {c:?}, so it matches nothing"),
        }
    }
}

impl std::error::Error for PatternFault {}

impl Pattern {
    /// Returns the pattern written as `text`.
    ///
    /// A pattern that could match nothing is refused: in a deny list it would be a hole.
    pub fn new(text: &str) -> Result<Self, PatternFault> {
        let text = text.trim();
        if text.chars().nth(MAX_PATTERN_CHARS).is_some() {
            return Err(PatternFault::TooLong);
        }
        let (source, name) = match text.rsplit_once(':') {
            Some((source, name)) => (Some(source), name),
            None => (None, text),
        };
        // Names are in this form too, so that one spelling of a letter matches the other.
        let name: String = name.nfkc().collect();
        if name.is_empty() || source.is_some_and(str::is_empty) {
            return Err(PatternFault::Empty);
        }
        match name.chars().find(|c| !may_stand_in_name(*c)) {
            Some(c) => Err(PatternFault::Character(c)),
            None => Ok(Self { source: source.map(Box::from), name: name.into_boxed_str(), is_tag: false }),
        }
    }

    /// Returns the pattern of a scope written as `text`: `tag=TAG` stands for the skills with a tag,
    /// everything else is as in [`Pattern::new`].
    pub fn for_scope(text: &str) -> Result<Self, PatternFault> {
        let Some(tag) = text.trim().strip_prefix(TAG) else { return Self::new(text) };
        if tag.trim().is_empty() {
            return Err(PatternFault::Empty);
        }
        if tag.chars().nth(MAX_PATTERN_CHARS).is_some() {
            return Err(PatternFault::TooLong);
        }
        Ok(Self { source: None, name: tag.trim().into(), is_tag: true })
    }

    /// Returns `true` if the pattern matches the skill `name` of `source`.
    pub fn matches(&self, source: &str, name: &str) -> bool {
        !self.is_tag
            && glob(&self.name, name)
            && self.source.as_deref().is_none_or(|pattern| glob(pattern, source))
    }

    /// Returns `true` if the pattern matches the skill `name` of `source`, or one of its `tags`.
    fn matches_tagged(&self, source: &str, name: &str, tags: &[String]) -> bool {
        if self.is_tag { tags.iter().any(|tag| glob(&self.name, tag)) } else { self.matches(source, name) }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            _ if self.is_tag => write!(f, "{TAG}{}", self.name),
            Some(source) => write!(f, "{source}:{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

fn may_stand_in_name(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '-' | '_' | '.' | '*' | '?')
        || unicode_normalization::char::is_combining_mark(c)
}

/// Returns whether `pattern` matches the whole of `text`.
///
/// Backtracking is limited to the last `*`: an earlier one could only take more of what the last one may take
/// as well. So the time is linear in the text for each character of the pattern.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    // Nearly all names are ASCII, and a scope is held against every name of a library.
    if pattern.is_ascii() && text.is_ascii() {
        glob_of(pattern.bytes(), text.bytes(), b'*', b'?')
    } else {
        glob_of(pattern.chars(), text.chars(), '*', '?')
    }
}

/// Returns whether `pattern` matches the whole of `text`; `star` stands for any run and `any` for any one.
fn glob_of<C: PartialEq, I: Iterator<Item = C> + Clone>(
    mut pattern: I,
    mut text: I,
    star: C,
    any: C,
) -> bool {
    // The pattern behind the last `*`, and the text that it was last tried on.
    let mut last_star: Option<(I, I)> = None;
    loop {
        let here = text.clone();
        match (pattern.next(), text.next()) {
            (None, None) => return true,
            (Some(wanted), _) if wanted == star => {
                text = here;
                last_star = Some((pattern.clone(), text.clone()));
                continue;
            }
            (Some(wanted), Some(_)) if wanted == any => continue,
            (Some(wanted), Some(met)) if wanted == met => continue,
            _ => {}
        }
        let Some((behind, tried)) = &mut last_star else { return false };
        if tried.next().is_none() {
            return false;
        }
        (pattern, text) = (behind.clone(), tried.clone());
    }
}

/// The skills that an agent may see.
///
/// ```
/// use repertoire_model::scope::{Pattern, Scope};
/// let scope = Scope { allow: Some(vec![Pattern::new("git*")?]), deny: vec![Pattern::new("git-secrets")?] };
/// assert!(scope.allows("user:skills", "git", &[]));
/// assert!(!scope.allows("user:skills", "git-secrets", &[]));
/// assert!(!scope.allows("user:skills", "pdf", &[]));
/// # Ok::<(), repertoire_model::scope::PatternFault>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The allowed skills: all if this is `None`, none if the list is empty.
    pub allow: Option<Vec<Pattern>>,
    /// The denied skills, which override the allowed ones.
    pub deny: Vec<Pattern>,
}

impl Scope {
    /// Returns whether the skill `name` of `source`, with these tags, may be seen.
    pub fn allows(&self, source: &str, name: &str, tags: &[String]) -> bool {
        let any =
            |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches_tagged(source, name, tags));
        !any(&self.deny) && self.allow.as_deref().is_none_or(any)
    }

    /// Returns whether a skill `name` of `source`, which does not exist yet, may be seen whatever its tags.
    pub fn allows_new(&self, source: &str, name: &str) -> bool {
        !self.deny.iter().any(|pattern| pattern.is_tag) && self.allows(source, name, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, source: &str, name: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(source, name)
    }

    #[test]
    fn names() {
        for (pattern, name, expect) in [
            ("git", "git", true),
            ("git", "git2", false),
            ("git", "Git", false),
            ("*", "anything", true),
            ("**", "anything", true),
            ("git*", "git", true),
            ("git*", "git-flow", true),
            ("*git", "my-git", true),
            ("*git", "git-x", false),
            ("g?t", "got", true),
            ("g?t", "gt", false),
            ("?", "技", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*a*a*b", "aaaaab", true),
            ("*-?", "x-", false),
            ("café", "café", true),
            ("cafe\u{301}", "café", true),
        ] {
            assert_eq!(matches(pattern, "any", name), expect, "{pattern} {name}");
        }
    }

    #[test]
    fn sources_hold_colons_and_names_do_not() {
        let label = "project:.agents/skills";
        assert!(matches("project:.agents/skills:git", label, "git"));
        assert!(matches("project:*:git", label, "git"));
        assert!(matches("*:git", label, "git"));
        assert!(!matches("project:*", label, "git"));
        assert!(!matches("user:*:git", label, "git"));
        assert!(!matches("project:*:git", label, "pdf"));
    }

    #[test]
    fn patterns_that_cannot_match_are_refused() {
        for (text, fault) in [
            ("", PatternFault::Empty),
            (" ", PatternFault::Empty),
            (":", PatternFault::Empty),
            (":git", PatternFault::Empty),
            ("project:", PatternFault::Empty),
            ("a b", PatternFault::Character(' ')),
            ("skills/git", PatternFault::Character('/')),
            ("{a,b}", PatternFault::Character('{')),
        ] {
            assert_eq!(Pattern::new(text), Err(fault), "{text:?}");
        }
        assert!(Pattern::new(&"a".repeat(MAX_PATTERN_CHARS)).is_ok());
        assert_eq!(Pattern::new(&"a".repeat(MAX_PATTERN_CHARS + 1)), Err(PatternFault::TooLong));
        assert_eq!(Pattern::new("user:*:git").unwrap().to_string(), "user:*:git");
    }

    #[test]
    fn denied_skills_stay_denied() {
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(text).unwrap()).collect();
        let check = |allow: Option<&[&str]>, deny: &[&str], expect: [bool; 3]| {
            let scope = Scope { allow: allow.map(patterns), deny: patterns(deny) };
            assert_eq!(["git", "git-flow", "pdf"].map(|name| scope.allows("s", name, &[])), expect);
        };
        check(None, &[], [true, true, true]);
        check(Some(&["git*"]), &[], [true, true, false]);
        check(None, &["git"], [false, true, true]);
        check(Some(&["git", "pdf"]), &["*"], [false, false, false]);
        check(Some(&["*"]), &["s:git*"], [false, false, true]);
        // A list from which everything was taken allows nothing, not everything.
        check(Some(&[]), &[], [false, false, false]);
    }

    #[test]
    fn skills_are_allowed_and_denied_by_tag() {
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::for_scope(text).unwrap()).collect();
        let tags = ["finance".to_owned(), "eu west".to_owned()];
        let check = |allow: Option<&[&str]>, deny: &[&str], expect: [bool; 2]| {
            let scope = Scope { allow: allow.map(patterns), deny: patterns(deny) };
            assert_eq!([scope.allows("s", "pdf", &tags), scope.allows("s", "pdf", &[])], expect);
        };
        check(Some(&["tag=fin*"]), &[], [true, false]);
        check(Some(&["tag=eu west", "x"]), &[], [true, false]);
        check(Some(&["pdf"]), &["tag=finance"], [false, true]);
        check(None, &["tag=Finance"], [true, true]);
        let scope = Scope { allow: None, deny: patterns(&["tag=finance"]) };
        assert!(!scope.allows_new("", "pdf") && Scope::default().allows_new("", "pdf"));
        assert_eq!(Pattern::for_scope("tag=a:b").unwrap().to_string(), "tag=a:b");
        assert_eq!(Pattern::for_scope("tag= "), Err(PatternFault::Empty));
        assert_eq!(Pattern::new("tag=a"), Err(PatternFault::Character('=')), "only scopes know tags");
    }

    #[test]
    fn hostile_patterns_take_no_time() {
        let pattern = format!("{}b", "*a".repeat(255));
        assert!(!matches(&pattern, "s", &"a".repeat(100_000)));
    }
}
