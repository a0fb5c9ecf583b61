//! Paths of files inside a skill.
//!
//! A [`SkillPath`] is safe on every file system a skill may be laid out on: no way up, no separators but `/`,
//! no device names, no characters that hide or reorder text. The grammar is documented in `SECURITY.md`.

use std::fmt;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::text;

/// The longest component, in bytes.
pub const MAX_COMPONENT_BYTES: usize = 255;
/// The longest path, in bytes.
pub const MAX_BYTES: usize = 1024;
/// The most components a path may have.
pub const MAX_DEPTH: usize = 16;

/// A file path relative to the root of a skill, in `/`-separated NFC components.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillPath(Box<str>);

impl SkillPath {
    /// Returns the path if `text` keeps to the grammar, or the first reason why not.
    ///
    /// ```
    /// use repertoire_model::{PathFault, SkillPath};
    /// assert_eq!(SkillPath::new("references/guide.md").unwrap().as_str(), "references/guide.md");
    /// assert_eq!(SkillPath::new("../secret"), Err(PathFault::ParentComponent));
    /// ```
    pub fn new(text: &str) -> Result<Self, PathFault> {
        if text.is_empty() {
            return Err(PathFault::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(PathFault::TooLong);
        }
        if text.starts_with('/') {
            return Err(PathFault::Absolute);
        }
        if !is_nfc(text) {
            return Err(PathFault::NotNormalised);
        }
        if text.split('/').count() > MAX_DEPTH {
            return Err(PathFault::TooDeep);
        }
        for component in text.split('/') {
            check_component(component)?;
        }
        Ok(Self(text.into()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the components in order.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the path below `directory`, as in `references/x.md` for the bucket `references`.
    pub fn within(directory: &str, file: &str) -> Result<Self, PathFault> {
        Self::new(&format!("{directory}/{file}"))
    }

    /// Returns whether a component starts with a dot, which keeps it from being listed or read.
    pub fn is_hidden(&self) -> bool {
        self.components().any(|component| component.starts_with('.'))
    }

    /// Returns the form under which two paths collide on a case-insensitive file system.
    pub fn collision_key(&self) -> String {
        self.0.nfkc().flat_map(char::to_lowercase).collect()
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl AsRef<str> for SkillPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// The reason why a text is not a [`SkillPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathFault {
    /// There is nothing in it.
    Empty,
    /// It starts with `/`.
    Absolute,
    /// A component is empty or `.`.
    EmptyComponent,
    /// A component is `..`.
    ParentComponent,
    /// It holds a backslash, a control, or one of `: < > " | ? *`; the field is that character.
    Character(char),
    /// It holds a character that is invisible or changes the direction of text.
    Invisible(char),
    /// A component ends with a dot or a space.
    TrailingDotOrSpace,
    /// A component is a device name on Windows, such as `CON` or `COM1`.
    DeviceName,
    /// A component names a git directory.
    GitDirectory,
    /// It is not in Unicode normal form C.
    NotNormalised,
    /// A component is longer than [`MAX_COMPONENT_BYTES`] or the path longer than [`MAX_BYTES`].
    TooLong,
    /// It has more than [`MAX_DEPTH`] components.
    TooDeep,
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the path is empty"),
            Self::Absolute => f.write_str("the path is absolute; give it relative to the skill directory"),
            Self::EmptyComponent => f.write_str("the path has an empty or `.` component"),
            Self::ParentComponent => f.write_str("the path leads upwards (`..`)"),
            // Quotes and backslashes are printable, although `escape_debug` escapes them.
            Self::Character(c @ ('"' | '\'' | '\\')) => {
                write!(f, "the path holds the character {c}, which is not allowed")
            }
            Self::Character(c) => {
                write!(f, "the path holds the character {}, which is not allowed", c.escape_debug())
            }
            Self::Invisible(c) => write!(f, "the path holds the invisible character U+{:04X}", u32::from(*c)),
            Self::TrailingDotOrSpace => f.write_str("a component of the path ends with a dot or a space"),
            Self::DeviceName => f.write_str("a component of the path is a device name on Windows"),
            Self::GitDirectory => f.write_str("the path leads into a git directory"),
            Self::NotNormalised => f.write_str("the path is not in Unicode normal form C"),
            Self::TooLong => f.write_str("the path is too long"),
            Self::TooDeep => write!(f, "the path has more than {MAX_DEPTH} components"),
        }
    }
}

impl std::error::Error for PathFault {}

fn check_component(component: &str) -> Result<(), PathFault> {
    match component {
        "" | "." => return Err(PathFault::EmptyComponent),
        ".." => return Err(PathFault::ParentComponent),
        _ => {}
    }
    if component.len() > MAX_COMPONENT_BYTES {
        return Err(PathFault::TooLong);
    }
    for c in component.chars() {
        if c.is_control() || matches!(c, '\\' | ':' | '<' | '>' | '"' | '|' | '?' | '*') {
            return Err(PathFault::Character(c));
        }
        if text::is_invisible(c) || text::is_noncharacter(c) {
            return Err(PathFault::Invisible(c));
        }
    }
    if component.ends_with(['.', ' ']) {
        return Err(PathFault::TrailingDotOrSpace);
    }
    if component.eq_ignore_ascii_case(".git") || component.eq_ignore_ascii_case("git~1") {
        return Err(PathFault::GitDirectory);
    }
    if is_device_name(component) {
        return Err(PathFault::DeviceName);
    }
    Ok(())
}

/// Windows reserves these with any extension, and ignores blanks before the dot.
fn is_device_name(component: &str) -> bool {
    let stem = component.split('.').next().unwrap_or(component).trim_end_matches(' ').to_uppercase();
    if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    let Some(number) = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT")) else { return false };
    let mut digits = number.chars();
    let is_port = digits.next().is_some_and(|c| c.is_ascii_digit() || matches!(c, '¹' | '²' | '³'));
    is_port && digits.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_paths_are_accepted() {
        for path in [
            "SKILL.md",
            "references/a b.md",
            "a/b/c/d.txt",
            ".env",
            "données/été.md",
            "console.log",
            "COM10",
            "x..y",
        ] {
            assert_eq!(SkillPath::new(path).unwrap().as_str(), path);
        }
    }

    #[test]
    fn a_printable_character_that_is_refused_is_shown_as_it_is() {
        let shown = |path: &str| SkillPath::new(path).unwrap_err().to_string();
        assert_eq!(shown("a\"b"), "the path holds the character \", which is not allowed");
        assert_eq!(shown("a\\b"), "the path holds the character \\, which is not allowed");
        assert_eq!(shown("a\nb"), "the path holds the character \\n, which is not allowed");
    }

    #[test]
    fn dangerous_paths_are_refused() {
        use PathFault::*;
        let check = |path: &str, fault| assert_eq!(SkillPath::new(path), Err(fault), "{path:?}");
        check("", Empty);
        check("/etc/passwd", Absolute);
        check(".", EmptyComponent);
        check("a//b", EmptyComponent);
        check("a/", EmptyComponent);
        check("..", ParentComponent);
        check("a/../../x", ParentComponent);
        check("sub/../a.md", ParentComponent);
        check("..\\x", Character('\\'));
        check("a\0b", Character('\0'));
        check("a:stream", Character(':'));
        check("C:/x", Character(':'));
        check("a*", Character('*'));
        check("a\u{202e}b", Invisible('\u{202e}'));
        check("a\u{200b}b", Invisible('\u{200b}'));
        check("a\u{e0041}b", Invisible('\u{e0041}'));
        check("a\u{ffff}b", Invisible('\u{ffff}'));
        check("x./y", TrailingDotOrSpace);
        check("x ", TrailingDotOrSpace);
        check(".git/config", GitDirectory);
        check("a/GIT~1/x", GitDirectory);
        check("con", DeviceName);
        check("aux.md", DeviceName);
        check("lpt¹.txt", DeviceName);
        check("cafe\u{301}", NotNormalised);
        check(&"a/".repeat(16).trim_end_matches('/').replace('a', "ab").repeat(2), TooDeep);
        check(&"x".repeat(256), TooLong);
        check(&"xy/".repeat(400), TooLong);
    }

    #[test]
    fn percent_signs_are_text_and_never_decoded() {
        assert_eq!(SkillPath::new("%2e%2e/x").unwrap().as_str(), "%2e%2e/x");
    }

    #[test]
    fn collisions_ignore_case_and_compatibility_forms() {
        let key = |path| SkillPath::new(path).unwrap().collision_key();
        assert_eq!(key("SKILL.md"), key("Skill.md"));
        assert_eq!(key("ﬁle"), key("FILE"));
    }
}
