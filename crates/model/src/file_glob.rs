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
    if pattern.len() > MAX_PATTERN_BYTES || path.len() > MAX_PATH_BYTES {
        return false;
    }
    let alternatives = alternatives(pattern.trim()).unwrap_or_default();
    alternatives.iter().any(|pattern| matches_one(pattern, path))
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

fn matches_one(pattern: &str, path: &str) -> bool {
    let is_below = pattern.ends_with('/');
    let mut pattern: Vec<&str> = parts(pattern);
    let path_parts = parts(path);
    if pattern.is_empty() || path_parts.is_empty() || path_parts.len() > MAX_PATH_PARTS {
        return false;
    }
    if pattern.len() == 1 && !is_below {
        return path_parts.last().is_some_and(|name| glob(pattern[0], name));
    }
    if is_below {
        pattern.push("**");
    }
    // Where the project lies is not known here.
    if path.starts_with('/') {
        pattern.insert(0, "**");
    }
    matches_parts(&pattern, &path_parts)
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !matches!(*part, "" | ".")).collect()
}

/// Returns whether `pattern` matches the whole of `path`; as in [`glob`], backtracking is limited to the last `**`.
fn matches_parts(pattern: &[&str], path: &[&str]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut last_star = None;
    loop {
        match (pattern.get(at), path.get(place)) {
            (None, None) => return true,
            (Some(&"**"), _) => {
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
}
