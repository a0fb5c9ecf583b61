//! A parser of git settings files that reads what git would read.

use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use repertoire::regular_file;

/// The largest settings file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// The byte order mark that some editors write first.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// One setting: `name = value` under `[section "subsection"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitSetting {
    /// The section, in lower case.
    pub(crate) section: String,
    pub(crate) subsection: Option<String>,
    /// The name, in lower case.
    pub(crate) name: String,
    /// The value, without quotes and comments; empty if there is only a name.
    pub(crate) value: String,
}

impl GitSetting {
    /// Returns whether this is `section.name`, without a subsection.
    pub(crate) fn is(&self, section: &str, name: &str) -> bool {
        self.subsection.is_none() && self.section == section && self.name == name
    }
}

/// Returns the settings in `text` in order; of several with the same name git uses the last.
///
/// Git refuses a file with a syntax error. This function skips the invalid line and reads the others.
pub(crate) fn read(text: &str) -> Vec<GitSetting> {
    let mut parser = Parser::of(text);
    let (mut section, mut subsection) = (String::new(), None);
    let mut settings = Vec::new();
    while let Some(character) = parser.next() {
        match character {
            '#' | ';' => parser.skip_line(),
            '[' => (section, subsection) = parser.head(),
            character if character.is_ascii_alphabetic() => {
                let name = parser.name(character);
                if let Some(value) = parser.value() {
                    settings.push(GitSetting {
                        section: section.clone(),
                        subsection: subsection.clone(),
                        name,
                        value,
                    });
                }
            }
            character if is_blank(character) => {}
            _ => parser.skip_line(),
        }
    }
    settings
}

/// Returns the settings in a file; none if it does not exist, is not a regular file, or is too large.
pub(crate) fn read_file(path: &Path) -> Vec<GitSetting> {
    let bytes = regular_file::read(path, MAX_BYTES).unwrap_or_default();
    read(&String::from_utf8_lossy(&bytes))
}

pub(crate) fn value(path: &Path, section: &str, name: &str) -> Option<String> {
    read_file(path).into_iter().rev().find_map(|own| own.is(section, name).then_some(own.value))
}

/// The characters of a settings file that are not parsed yet.
struct Parser<'a>(Peekable<Chars<'a>>);

impl<'a> Parser<'a> {
    fn of(text: &'a str) -> Self {
        Self(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).chars().peekable())
    }

    /// Returns the next character; CR LF is read as LF.
    fn next(&mut self) -> Option<char> {
        let character = self.0.next()?;
        let ends_line = character == '\r' && self.0.next_if_eq(&'\n').is_some();
        Some(if ends_line { '\n' } else { character })
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|character| character != '\n') {}
    }

    /// Parses the section and the subsection after the `[`; a `]` in quotes does not end them.
    fn head(&mut self) -> (String, Option<String>) {
        let (mut section, mut subsection) = (String::new(), None::<String>);
        let mut is_quoted = false;
        while let Some(character) = self.next() {
            match character {
                '\n' => break,
                ']' if !is_quoted => break,
                '"' => {
                    is_quoted = !is_quoted;
                    subsection.get_or_insert_default();
                }
                character if is_quoted => {
                    let character = if character == '\\' { self.next() } else { Some(character) };
                    subsection.get_or_insert_default().extend(character);
                }
                character if is_blank(character) => {}
                character => section.push(character.to_ascii_lowercase()),
            }
        }
        (section, subsection)
    }

    fn name(&mut self, first: char) -> String {
        let mut name = String::from(first.to_ascii_lowercase());
        while let Some(character) =
            self.0.next_if(|character| character.is_ascii_alphanumeric() || *character == '-')
        {
            name.push(character.to_ascii_lowercase());
        }
        name
    }

    /// Parses the value after a name, up to the end of the line; returns `None` if git would refuse it.
    fn value(&mut self) -> Option<String> {
        while self.0.next_if(|character| matches!(character, ' ' | '\t')).is_some() {}
        match self.next() {
            None | Some('\n') => return Some(String::new()),
            Some('=') => {}
            Some(_) => {
                self.skip_line();
                return None;
            }
        }
        let (mut value, mut is_quoted) = (String::new(), false);
        // The length of the value without trailing blanks, unless they are quoted.
        let mut length = 0;
        while let Some(character) = self.next() {
            match character {
                '\n' if is_quoted => return None,
                '\n' => break,
                '#' | ';' if !is_quoted => {
                    self.skip_line();
                    break;
                }
                '"' => is_quoted = !is_quoted,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped) => value.push(unescaped(escaped)),
                },
                character if is_blank(character) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(character);
                    }
                    continue;
                }
                character => value.push(character),
            }
            length = value.len();
        }
        value.truncate(length);
        Some(value)
    }
}

/// Returns whether git treats a character as a blank.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

fn unescaped(character: char) -> char {
    match character {
        'n' => '\n',
        't' => '\t',
        'b' => '\u{8}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns settings the way `git config --list` prints them.
    fn listed(text: &str) -> Vec<String> {
        let of = |setting: GitSetting| {
            let middle = setting.subsection.map_or_else(String::new, |one| format!("{one}."));
            format!("{}.{middle}{}={}", setting.section, setting.name, setting.value)
        };
        read(text).into_iter().map(of).collect()
    }

    #[test]
    fn names_and_values() {
        let text = "\u{feff}; mine\n[Core]\n\thooksPath = a b  # why\n[User] name = \"Ada # L\" ; really\r\n\temail=a@b.org\r\n";
        assert_eq!(listed(text), ["core.hookspath=a b", "user.name=Ada # L", "user.email=a@b.org"]);
    }

    #[test]
    fn subsections() {
        let text = "[remote \"a \\\"b\\\" ] c\"]\n\turl = x\n[include \"]\"] path = y\n[user \"\"] name = z\n[core] a\n";
        assert_eq!(listed(text), ["remote.a \"b\" ] c.url=x", "include.].path=y", "user..name=z", "core.a="]);
        assert!(!read("[user \"x\"] name = y")[0].is("user", "name"));
        assert!(read("[USER] NAME = y")[0].is("user", "name"));
    }

    #[test]
    fn continued_values() {
        assert_eq!(listed("[a]\nb = c \\\n  d\ne = f\n"), ["a.b=c   d", "a.e=f"]);
        assert_eq!(listed("[a]\nb = c \\\r\n  d\n"), ["a.b=c   d"]);
        // An escaped backslash does not continue the value.
        assert_eq!(listed("[a]\nb = c\\\\\ne = f\n"), ["a.b=c\\", "a.e=f"]);
        assert_eq!(listed("[a] b = \" c \" \"d\\n\\te\" \n"), ["a.b= c  d\n\te"]);
    }

    #[test]
    fn settings_after_invalid_lines_are_read() {
        assert_eq!(listed("= x\n[a\nb = \"c\nd ! e\n! f\ng = h\n"), ["a.g=h"]);
    }

    #[test]
    fn git_reads_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings");
        for text in [
            "\u{feff}; mine\n[Core]\n\thooksPath = a b  # why\n[User] name = \"Ada # L\" ; really\r\n\temail=a@b.org\r\n",
            "[remote \"a \\\"b\\\" ] c\"]\n\turl = x\n[include \"]\"] path = y\n[user \"\"] name = z\n",
            "[a]\nb = c \\\n  d\ne = f\n\n[a.B]\nc = \" d \" \\\n\n",
            "[a]\nb = c\\\\\ne = f \\\n\n[a]\nb-1 = \"\\tx\\ny\\b\"z  \"  \"  \n",
            "[a]b=c;d\n[a] e=\n  [c]\n",
            "[a]\nb = \u{a0}c\u{a0}\n",
        ] {
            std::fs::write(&file, text).unwrap();
            #[allow(clippy::disallowed_methods)]
            let git = std::process::Command::new("git")
                .args(["config", "--list", "-z", "--file"])
                .arg(&file)
                .output()
                .unwrap();
            if git.status.success() {
                let theirs = String::from_utf8(git.stdout).unwrap().replacen('\n', "=", usize::MAX);
                let ours: String =
                    listed(text).into_iter().map(|line| line.replace('\n', "=") + "\0").collect();
                assert_eq!(ours, theirs, "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(\\[|\\]|\"|\\\\|=|#|\n|\r|[a-c]|\\PC){0,60}") {
            for setting in read(&text) {
                prop_assert!(!setting.name.is_empty());
                prop_assert_eq!(&setting.name, &setting.name.to_ascii_lowercase());
            }
        }
    }
}
