//! Globs over paths of files: the `paths` of a skill that is about some files of a project.

use std::fmt;

use crate::scope::glob;

/// The longest pattern that matches anything, in bytes.
const MAX_PATTERN_BYTES: usize = 512;

/// The longest path that is matched, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// The most parts of a path that is matched.
const MAX_PATH_PARTS: usize = 256;

/// The most patterns that the alternatives of one pattern stand for.
const MAX_ALTERNATIVES: usize = 64;

/// The most comparisons of a pattern with a file, about a second of work.
const MAX_COMPARISONS: usize = 50_000_000;

/// The most comparisons for one skill, so that one does not use up those of the others.
const MAX_SKILL_COMPARISONS: usize = 2_000_000;

/// The reason why a pattern is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GlobFault {
    /// It is longer than the longest pattern that matches anything.
    TooLong,
    /// It has this bracket without the other one.
    Unbalanced(char),
    /// Its alternatives stand for too many patterns.
    TooManyAlternatives,
    /// It has a part `..`, which no path of a file has.
    Parent,
}

impl fmt::Display for GlobFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "it is longer than {MAX_PATTERN_BYTES} bytes"),
            Self::Unbalanced(bracket) => write!(f, "it has a `{bracket}` without the other bracket"),
            Self::TooManyAlternatives => {
                write!(f, "its braces stand for more than {MAX_ALTERNATIVES} patterns")
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
    let Some(alternatives) = alternatives(pattern) else { return Some(GlobFault::TooManyAlternatives) };
    let has_parent = |pattern: &String| pattern.split('/').any(|part| part == "..");
    alternatives.iter().any(has_parent).then_some(GlobFault::Parent)
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

/// Returns whether `pattern` matches the file at `path`, in the project or absolute, with `/` between its parts.
///
/// `*` stands for any text within a name, `?` for one character, `**` for any number of directories, `{a,b}` for one of the
/// texts. A pattern without `/` is about the name of the file alone, in any directory. One that ends with `/` is about everything
/// below. An absolute path matches if one of its ends does, because a skill does not know where a project is.
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
/// The work is limited, for one skill and for all of them: patterns beyond the limit match nothing.
///
/// ```
/// use repertoire_model::file_glob::FileMatcher;
/// let mut files = FileMatcher::new(&["src/main.rs", "deploy/main.tf"]);
/// assert!(files.matches_any(&["*.py", "*.tf"]));
/// assert!(!files.matches_any(&["*.py"]));
/// ```
#[derive(Debug)]
pub struct FileMatcher<'f> {
    files: Vec<FilePath<'f>>,
    comparisons_left: usize,
}

impl<'f> FileMatcher<'f> {
    /// Returns the matcher of `files`, paths as in [`matches`].
    pub fn new<T: AsRef<str>>(files: &'f [T]) -> Self {
        let files = files.iter().filter_map(|file| FilePath::new(file.as_ref())).collect();
        Self { files, comparisons_left: MAX_COMPARISONS }
    }

    /// Returns whether one of `patterns`, those of one skill, matches one of the files.
    pub fn matches_any<T: AsRef<str>>(&mut self, patterns: &[T]) -> bool {
        let mut allowed = self.comparisons_left.min(MAX_SKILL_COMPARISONS);
        for pattern in patterns {
            let alternatives = prepare(pattern.as_ref());
            let comparisons = alternatives.len() * self.files.len();
            if comparisons > allowed {
                return false;
            }
            allowed -= comparisons;
            self.comparisons_left -= comparisons;
            if alternatives.iter().any(|pattern| self.files.iter().any(|file| pattern.matches(file))) {
                return true;
            }
        }
        false
    }
}

/// The path of a file.
#[derive(Debug)]
struct FilePath<'f> {
    parts: Vec<&'f str>,
    is_absolute: bool,
}

impl<'f> FilePath<'f> {
    /// Returns the path, unless it is too long or has no parts.
    fn new(path: &'f str) -> Option<Self> {
        if path.len() > MAX_PATH_BYTES {
            return None;
        }
        let parts = parts(path);
        let is_sound = !parts.is_empty() && parts.len() <= MAX_PATH_PARTS;
        is_sound.then(|| Self { parts, is_absolute: path.starts_with('/') })
    }
}

/// A pattern without braces.
struct PathPattern {
    parts: Vec<String>,
    /// True if it is about the name of a file alone.
    is_name: bool,
}

impl PathPattern {
    fn matches(&self, file: &FilePath<'_>) -> bool {
        // Most files have another name.
        if let (Some(wanted), Some(name)) = (self.parts.last(), file.parts.last())
            && wanted != "**"
            && !glob(wanted, name)
        {
            return false;
        }
        self.is_name || matches_parts(&self.parts, &file.parts, file.is_absolute)
    }
}

/// Returns the patterns without braces that `pattern` stands for; none if it matches nothing.
fn prepare(pattern: &str) -> Vec<PathPattern> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Vec::new();
    }
    let alternatives = alternatives(pattern.trim()).unwrap_or_default();
    let prepared = alternatives.iter().map(|pattern| {
        let is_below = pattern.ends_with('/');
        let mut parts: Vec<String> = parts(pattern).into_iter().map(str::to_owned).collect();
        let is_name = parts.len() == 1 && !is_below;
        if is_below && !parts.is_empty() {
            parts.push("**".to_owned());
        }
        PathPattern { parts, is_name }
    });
    prepared.filter(|pattern| !pattern.parts.is_empty()).collect()
}

/// Returns the patterns without braces that `pattern` stands for, unless they are too many.
fn alternatives(pattern: &str) -> Option<Vec<String>> {
    let (mut open, mut plain) = (vec![pattern.to_owned()], Vec::new());
    while let Some(next) = open.pop() {
        // The innermost group is the first that ends.
        let group = next.find('}').and_then(|end| Some((next[..end].rfind('{')?, end)));
        let Some((start, end)) = group else {
            plain.push(next);
            continue;
        };
        let texts = next[start + 1..end].split(',');
        open.extend(texts.map(|text| format!("{}{text}{}", &next[..start], &next[end + 1..])));
        if open.len() + plain.len() > MAX_ALTERNATIVES {
            return None;
        }
    }
    Some(plain)
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !matches!(*part, "" | ".")).collect()
}

/// Returns whether `pattern` matches the whole of `path`, or one of its ends; as in [`glob`], backtracking is limited to the last
/// `**`.
fn matches_parts(pattern: &[String], path: &[&str], is_end_enough: bool) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut last_star = is_end_enough.then_some((0, 0));
    loop {
        match (pattern.get(at), path.get(place)) {
            (None, None) => return true,
            (Some(part), _) if part == "**" => {
                last_star = Some((at + 1, place));
                at += 1;
                continue;
            }
            (Some(part), Some(name)) if glob(part, name) => {
                (at, place) = (at + 1, place + 1);
                continue;
            }
            _ => {}
        }
        match last_star {
            Some((behind, tried)) if tried < path.len() => {
                last_star = Some((behind, tried + 1));
                (at, place) = (behind, tried + 1);
            }
            _ => return false,
        }
    }
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
            ("?.md", "é.md", true),
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
            (&"{a,b}".repeat(7), Some(GlobFault::TooManyAlternatives)),
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
    fn the_work_for_many_files_is_limited_for_a_skill_and_for_all() {
        let files: Vec<String> = (0..10_000).map(|index| format!("src/{index}.tsx")).collect();
        let mut matcher = FileMatcher::new(&files);
        let hostile = vec!["**/{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}0"; 100];
        assert!(!matcher.matches_any(&hostile));
        assert!(matcher.matches_any(&["*.py", "src/*.tsx"]), "others are compared nevertheless");
        assert!(matcher.comparisons_left > MAX_COMPARISONS - 2 * MAX_SKILL_COMPARISONS);
        (0..100).for_each(|_| assert!(!matcher.matches_any(&hostile)));
        assert!(!matcher.matches_any(&hostile));
        assert!(matcher.comparisons_left < MAX_SKILL_COMPARISONS);
    }
}
