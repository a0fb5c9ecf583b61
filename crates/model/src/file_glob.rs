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

/// The most work of comparing patterns with files, about a second, in comparisons of one byte.
const MAX_WORK: usize = 1_000_000_000;

/// The most work for one skill, so that one does not use up that of the others.
const MAX_SKILL_WORK: usize = 20_000_000;

/// The work of preparing a pattern.
const PREPARE_WORK: usize = 200;

/// The work of comparing a name with one that has no wildcard, or only one at its start.
const PLAIN_WORK: usize = 8;

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
    work_left: usize,
    max_skill_work: usize,
}

impl<'f> FileMatcher<'f> {
    /// Returns the matcher of `files`, paths as in [`matches()`].
    pub fn new<T: AsRef<str>>(files: &'f [T]) -> Self {
        let files = files.iter().filter_map(|file| FilePath::new(file.as_ref())).collect();
        Self { files, work_left: MAX_WORK, max_skill_work: MAX_SKILL_WORK }
    }

    /// Returns whether one of `patterns`, those of one skill, matches one of the files.
    pub fn matches_any<T: AsRef<str>>(&mut self, patterns: &[T]) -> bool {
        if self.files.is_empty() {
            return false;
        }
        let allowed = self.work_left.min(self.max_skill_work);
        let mut work = Work { left: allowed };
        let mut is_match = false;
        'patterns: for pattern in patterns {
            for alternative in prepare(pattern.as_ref()) {
                work.take(PREPARE_WORK);
                for file in &self.files {
                    is_match = alternative.matches(file, &mut work);
                    if is_match || work.left == 0 {
                        break 'patterns;
                    }
                }
            }
        }
        self.work_left -= allowed - work.left;
        is_match
    }
}

/// The work that may still be done.
struct Work {
    left: usize,
}

impl Work {
    /// Takes `amount` from the work that is left, and returns whether there was as much.
    fn take(&mut self, amount: usize) -> bool {
        let is_enough = self.left >= amount;
        self.left = self.left.saturating_sub(amount);
        is_enough
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
    parts: Vec<PartPattern>,
    /// True if it is about the name of a file alone.
    is_name: bool,
}

impl PathPattern {
    /// Returns whether it matches `file`; if no work is left, it does not.
    fn matches(&self, file: &FilePath<'_>, work: &mut Work) -> bool {
        let (Some(last), Some(name)) = (self.parts.last(), file.parts.last()) else { return false };
        // Most files have another name.
        last.matches(name, work)
            && (self.is_name || matches_parts(&self.parts, &file.parts, file.is_absolute, work))
    }
}

/// A part of a pattern. Most are a name, or the end of one.
enum PartPattern {
    /// `**`: any number of directories.
    Directories,
    Name(String),
    End(String),
    Glob(String),
}

impl PartPattern {
    fn new(part: &str) -> Self {
        let is_plain = |text: &str| !text.contains(['*', '?']);
        match part.strip_prefix('*') {
            Some("*") => Self::Directories,
            Some(end) if is_plain(end) => Self::End(end.to_owned()),
            None if is_plain(part) => Self::Name(part.to_owned()),
            _ => Self::Glob(part.to_owned()),
        }
    }

    /// Returns whether it matches `name`; if no work is left, it does not.
    fn matches(&self, name: &str, work: &mut Work) -> bool {
        match self {
            Self::Directories => true,
            Self::Name(wanted) => work.take(PLAIN_WORK) && name == wanted,
            Self::End(end) => work.take(PLAIN_WORK) && name.ends_with(end.as_str()),
            Self::Glob(pattern) => work.take(PLAIN_WORK + pattern.len() * name.len()) && glob(pattern, name),
        }
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
        let mut parts: Vec<PartPattern> = parts(pattern).into_iter().map(PartPattern::new).collect();
        let is_name = parts.len() == 1 && !is_below;
        if is_below && !parts.is_empty() {
            parts.push(PartPattern::Directories);
        }
        PathPattern { parts, is_name }
    });
    prepared.collect()
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
/// `**`. If no work is left, it does not.
fn matches_parts(pattern: &[PartPattern], path: &[&str], is_end_enough: bool, work: &mut Work) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut last_star = is_end_enough.then_some((0, 0));
    loop {
        if !work.take(1) {
            return false;
        }
        match (pattern.get(at), path.get(place)) {
            (None, None) => return true,
            (Some(PartPattern::Directories), _) => {
                last_star = Some((at + 1, place));
                at += 1;
                continue;
            }
            (Some(part), Some(name)) if part.matches(name, work) => {
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
        let directory = "a".repeat(240);
        let files: Vec<String> =
            (0..100).map(|index| format!("{}{index}.tsx", format!("{directory}/").repeat(12))).collect();
        let mut matcher = FileMatcher::new(&files);
        (matcher.work_left, matcher.max_skill_work) = (1_000_000, 100_000);
        let hostile = [
            vec![format!("**/*{}{}/**", "a".repeat(120), "{b,c}".repeat(6)); 100],
            vec!["**/{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}*0".to_owned(); 100],
        ];
        hostile.iter().for_each(|globs| assert!(!matcher.matches_any(globs)));
        assert_eq!(matcher.work_left, 800_000);
        assert!(matcher.matches_any(&["*.py", "*.tsx"]), "others are compared nevertheless");
        assert!(matcher.matches_any(&["*.py", "*1*.tsx"]));
        while matcher.work_left > 0 {
            assert!(!matcher.matches_any(&hostile[1]));
        }
        assert!(!matcher.matches_any(&["*.tsx"]), "nothing is left");
    }
}
