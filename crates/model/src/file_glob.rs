//! Globs over paths of files: the `paths` of a skill that is about some files of a project.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The longest pattern that matches anything, in bytes.
const MAX_PATTERN_BYTES: usize = 512;

/// The most wildcards of a pattern. Each of them can take part in every step of a comparison.
const MAX_WILDCARDS: usize = 16;

/// The most patterns of a skill that are compared.
const MAX_PATTERNS: usize = 64;

/// The longest path that is matched, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// The reason why a pattern is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GlobFault {
    /// It is longer than the longest pattern that matches anything.
    TooLong,
    /// It has this bracket without the other one.
    Unbalanced(char),
    /// It has too many wildcards.
    TooManyWildcards,
    /// It has a part `..`, which no path of a file has.
    Parent,
}

impl fmt::Display for GlobFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "it is longer than {MAX_PATTERN_BYTES} bytes"),
            Self::Unbalanced(bracket) => write!(f, "it has a `{bracket}` without the other bracket"),
            Self::TooManyWildcards => {
                write!(f, "it has more than {MAX_WILDCARDS} wildcards")
            }
            Self::Parent => f.write_str("it has a `..`, and paths are those in the project"),
        }
    }
}

impl std::error::Error for GlobFault {}

/// Returns the reason why `pattern` is malformed, if it is.
///
/// ```
/// use repertoire_model::file_glob::{GlobFault, fault};
/// assert_eq!(fault("src/**/*.{ts,tsx}"), None);
/// assert_eq!(fault("*.{ts,tsx"), Some(GlobFault::Unbalanced('{')));
/// ```
pub fn fault(pattern: &str) -> Option<GlobFault> {
    let pattern = pattern.trim();
    if pattern.len() > MAX_PATTERN_BYTES {
        return Some(GlobFault::TooLong);
    }
    let unbalanced = unbalanced(pattern, '{', '}').or_else(|| unbalanced(pattern, '[', ']'));
    if let Some(bracket) = unbalanced {
        return Some(GlobFault::Unbalanced(bracket));
    }
    if has_too_many_wildcards(pattern) {
        return Some(GlobFault::TooManyWildcards);
    }
    pattern.split(['/', '{', ',', '}']).any(|part| part == "..").then_some(GlobFault::Parent)
}

fn has_too_many_wildcards(pattern: &str) -> bool {
    pattern.matches(['*', '?', '{']).count() > MAX_WILDCARDS
}

/// Returns the bracket that lacks its other half.
fn unbalanced(pattern: &str, open: char, close: char) -> Option<char> {
    let mut depth = 0_usize;
    for c in pattern.chars() {
        if c == open {
            depth += 1;
        } else if c == close {
            match depth.checked_sub(1) {
                Some(rest) => depth = rest,
                None => return Some(close),
            }
        }
    }
    (depth > 0).then_some(open)
}

/// Returns whether `pattern` matches the file at `path`, in the project or absolute, with `/` between parts.
///
/// `*` stands for any text within a name, `?` for one ASCII character, `**` for any number of directories,
/// `{a,b}` for either text. A pattern without `/` is about the file name alone, in any directory; one that
/// ends with `/` is about all below. Absolute paths match by their ends: a skill cannot know the project.
///
/// ```
/// use repertoire_model::file_glob::matches;
/// assert!(matches("src/**/*.{ts,tsx}", "src/app/form.tsx"));
/// assert!(matches("*.py", "/home/ada/tool/main.py"));
/// assert!(!matches("src/*.rs", "src/bin/main.rs"));
/// ```
pub fn matches(pattern: &str, path: &str) -> bool {
    FileMatcher::new(&[path]).matches_any(&[pattern])
}

/// Compares the files of a project with the patterns of many skills.
///
/// Patterns with a [`fault`] of size, and those of a skill behind its first 64, match nothing.
///
/// ```
/// use repertoire_model::file_glob::FileMatcher;
/// let files = FileMatcher::new(&["src/main.rs", "deploy/main.tf"]);
/// assert!(files.matches_any(&["*.py", "*.tf"]));
/// assert!(!files.matches_any(&["*.py"]));
/// ```
#[derive(Debug)]
pub struct FileMatcher {
    /// Paths in the project.
    relative: Vec<String>,
    /// Absolute paths, without the `/` at the start.
    absolute: Vec<String>,
}

impl FileMatcher {
    /// Returns the matcher of `files`, paths as in [`matches()`].
    pub fn new<T: AsRef<str>>(files: &[T]) -> Self {
        let files = files.iter().map(AsRef::as_ref).filter(|file| file.len() <= MAX_PATH_BYTES);
        let (absolute, relative): (Vec<&str>, Vec<&str>) = files.partition(|file| file.starts_with('/'));
        let plain = |files: Vec<&str>| {
            files.into_iter().map(without_empty_parts).filter(|file| !file.is_empty()).collect()
        };
        Self { relative: plain(relative), absolute: plain(absolute) }
    }

    /// Returns whether one of `patterns`, those of one skill, matches one of the files.
    pub fn matches_any<T: AsRef<str>>(&self, patterns: &[T]) -> bool {
        matches_files(&self.relative, patterns, "") || matches_files(&self.absolute, patterns, "**/")
    }
}

/// Returns whether one of `patterns`, each behind `start`, matches one of `files`.
fn matches_files<T: AsRef<str>>(files: &[String], patterns: &[T], start: &str) -> bool {
    if files.is_empty() || patterns.is_empty() {
        return false;
    }
    let globs = globs(patterns, start);
    files.iter().any(|file| globs.is_match(file))
}

/// Returns the set of `patterns`, each behind `start`, except those too long or with too many wildcards.
fn globs<T: AsRef<str>>(patterns: &[T], start: &str) -> GlobSet {
    let mut globs = GlobSetBuilder::new();
    for pattern in patterns.iter().take(MAX_PATTERNS) {
        let pattern = pattern.as_ref().trim();
        if pattern.is_empty() || pattern.len() > MAX_PATTERN_BYTES || has_too_many_wildcards(pattern) {
            continue;
        }
        let glob = format!("{start}{}", written_for_globset(pattern));
        let glob = GlobBuilder::new(&glob)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build();
        if let Ok(glob) = glob {
            globs.add(glob);
        }
    }
    globs.build().unwrap_or_default()
}

/// Returns `pattern` as [`globset`] writes it: brackets stand for themselves, and so do unmatched braces.
fn written_for_globset(pattern: &str) -> String {
    let is_below = pattern.ends_with('/');
    let parts = without_empty_parts(pattern);
    let mut glob = if parts.contains('/') || is_below { String::new() } else { "**/".to_owned() };
    let has_braces = unbalanced(pattern, '{', '}').is_none();
    for c in parts.chars() {
        if matches!(c, '[' | ']' | '\\') || (matches!(c, '{' | '}') && !has_braces) {
            glob.push('\\');
        }
        glob.push(c);
    }
    if is_below && !parts.is_empty() {
        glob += "/**";
    }
    glob
}

fn without_empty_parts(path: &str) -> String {
    path.split('/').filter(|part| !matches!(*part, "" | ".")).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_globs_match_files_as_projects_write_them() {
        for (pattern, path, expect) in [
            ("skills/**", "skills/git/SKILL.md", true),
            ("skills/**", "src/skills/x", false),
            ("src/skill_*.py", "src/skill_loader.py", true),
            ("src/skill_*.py", "src/sub/skill_loader.py", false),
            ("**/*.rs", "main.rs", true),
            ("**/*.rs", "a/b/c.rs", true),
            ("src/**/test/*.rs", "src/test/a.rs", true),
            ("src/**/test/*.rs", "src/a/test/b/test/c.rs", true),
            ("src/**/test/*.rs", "src/a/test/b/c.rs", false),
            ("*.py", "deep/down/a.py", true),
            ("Makefile", "sub/Makefile", true),
            ("./src/a.rs", "src/a.rs", true),
            ("src/a.rs", "./src/a.rs", true),
            ("docs/", "docs/a/b.md", true),
            ("docs/", "src/docs.md", false),
            ("src/**", "/home/ada/project/src/a.rs", true),
            ("src/**", "/home/ada/project/lib/a.rs", false),
            ("*.{ts,tsx}", "a.tsx", true),
            ("{src,lib}/**/*.{c,h}", "lib/x/y.h", true),
            ("{src,lib}/**/*.{c,h}", "bin/x/y.h", false),
            ("a{b", "a{b", true),
            ("", "a", false),
            ("**", "", false),
            ("?.md", "a.md", true),
            ("app/[slug]/*.tsx", "app/[slug]/page.tsx", true),
            ("app/[slug]/*.tsx", "app/s/page.tsx", false),
            ("{,deep/}a.rs", "a.rs", true),
            ("src/a**b.rs", "src/a-b.rs", true),
            ("*.MD", "a.md", false),
            ("a\\b", "a\\b", true),
        ] {
            assert_eq!(matches(pattern, path), expect, "{pattern} {path}");
        }
    }

    #[test]
    fn p1_malformed_globs_are_named() {
        for (pattern, expect) in [
            ("src/**/*.{ts,tsx}", None),
            ("app/[slug]/page.tsx", None),
            ("src/[a", Some(GlobFault::Unbalanced('['))),
            ("{a,b", Some(GlobFault::Unbalanced('{'))),
            ("a,b}", Some(GlobFault::Unbalanced('}'))),
            ("../other/*.rs", Some(GlobFault::Parent)),
            ("a..b/*", None),
            ("{../a,b}/*", Some(GlobFault::Parent)),
            (&"{a,b}".repeat(17), Some(GlobFault::TooManyWildcards)),
            (&"x".repeat(513), Some(GlobFault::TooLong)),
        ] {
            assert_eq!(fault(pattern), expect, "{pattern}");
        }
    }

    #[test]
    fn hostile_globs_end() {
        let stars = "**/a/".repeat(90);
        assert!(!matches(&stars, &"a/".repeat(2_000).replace("a/", "a/b/")));
        let braces = "{a,b}".repeat(100);
        assert!(!matches(&braces, "x"));
        assert!(!matches(&"*a".repeat(200), &"a".repeat(4_000).replace("aa", "ab")));
        assert!(!matches(&"x".repeat(10_000), "x"));
        let (pattern, path) = (format!("**/{}z", "a/".repeat(240)), format!("/{}", "a/".repeat(2_040)));
        assert!(!matches(&pattern, &path));
    }

    #[test]
    fn the_work_for_many_files_is_limited_for_every_skill() {
        let directory = "a".repeat(240);
        let files: Vec<String> =
            (0..100).map(|index| format!("{}{index}.tsx", format!("{directory}/").repeat(12))).collect();
        let matcher = FileMatcher::new(&files);
        for hostile in [
            vec![format!("**/*{}{}/**", "a".repeat(120), "{b,c}".repeat(6)); 10_000],
            vec!["**/{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}*0".to_owned(); 10_000],
            vec![format!("{}0", "*a".repeat(15)); 10_000],
            vec![format!("{{{}}}*0", "a*,aa*,".repeat(7)); 10_000],
        ] {
            assert!(!matcher.matches_any(&hostile));
        }
        assert!(matcher.matches_any(&["*.py", "*.tsx"]));
        assert!(matcher.matches_any(&["*.py", "*1*.tsx"]));
    }
}
