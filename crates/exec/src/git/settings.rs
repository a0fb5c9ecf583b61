//! The settings of git, read as git reads them: what it would believe is what has to be known here.

use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use repertoire::regular_file;

/// The largest file of settings that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// The mark that some editors put before a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// One line of settings: `name = value` under `[section "subsection"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSetting {
    /// The section, in lower case.
    pub section: String,
    /// The subsection, if there is one.
    pub subsection: Option<String>,
    /// The name, in lower case.
    pub name: String,
    /// The value, without quotes and comments; nothing where only the name is there.
    pub value: String,
}

impl GitSetting {
    /// Returns whether this is `section.name`, of nothing in particular.
    #[must_use]
    pub fn is(&self, section: &str, name: &str) -> bool {
        self.subsection.is_none() && self.section == section && self.name == name
    }
}

/// Returns the settings in `text`, in their order; of those with the same name git takes the last.
///
/// Git refuses a file with something wrong in it. Here that line is left out and the others are still read.
#[must_use]
pub fn read(text: &str) -> Vec<GitSetting> {
    let mut letters = Letters::of(text);
    let (mut section, mut subsection) = (String::new(), None);
    let mut settings = Vec::new();
    while let Some(letter) = letters.next() {
        match letter {
            '#' | ';' => letters.skip_line(),
            '[' => (section, subsection) = letters.head(),
            letter if letter.is_ascii_alphabetic() => {
                let name = letters.name(letter);
                if let Some(value) = letters.value() {
                    settings.push(GitSetting {
                        section: section.clone(),
                        subsection: subsection.clone(),
                        name,
                        value,
                    });
                }
            }
            letter if is_blank(letter) => {}
            _ => letters.skip_line(),
        }
    }
    settings
}

/// Returns the settings in a file. One that is not there, is no regular file or is too large has none.
#[must_use]
pub fn read_file(path: &Path) -> Vec<GitSetting> {
    let bytes = regular_file::read(path, MAX_BYTES).unwrap_or_default();
    read(&String::from_utf8_lossy(&bytes))
}

/// Returns the value of `section.name` in the settings at `path`.
pub(crate) fn value(path: &Path, section: &str, name: &str) -> Option<String> {
    read_file(path).into_iter().rev().find_map(|own| own.is(section, name).then_some(own.value))
}

/// The rest of a text of settings.
struct Letters<'a>(Peekable<Chars<'a>>);

impl<'a> Letters<'a> {
    fn of(text: &'a str) -> Self {
        Self(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).chars().peekable())
    }

    /// Returns the next letter; the two that end a line elsewhere are one.
    fn next(&mut self) -> Option<char> {
        let letter = self.0.next()?;
        let ends_line = letter == '\r' && self.0.next_if_eq(&'\n').is_some();
        Some(if ends_line { '\n' } else { letter })
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|letter| letter != '\n') {}
    }

    /// Returns the section and the subsection, from behind the `[`; a `]` in quotes does not end them.
    fn head(&mut self) -> (String, Option<String>) {
        let (mut section, mut subsection) = (String::new(), None::<String>);
        let mut is_quoted = false;
        while let Some(letter) = self.next() {
            match letter {
                '\n' => break,
                ']' if !is_quoted => break,
                '"' => {
                    is_quoted = !is_quoted;
                    subsection.get_or_insert_default();
                }
                letter if is_quoted => {
                    let letter = if letter == '\\' { self.next() } else { Some(letter) };
                    subsection.get_or_insert_default().extend(letter);
                }
                letter if is_blank(letter) => {}
                letter => section.push(letter.to_ascii_lowercase()),
            }
        }
        (section, subsection)
    }

    fn name(&mut self, first: char) -> String {
        let mut name = String::from(first.to_ascii_lowercase());
        while let Some(letter) = self.0.next_if(|letter| letter.is_ascii_alphanumeric() || *letter == '-') {
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    /// Returns the value up to the end of its line, from behind the name; nothing if git would refuse it.
    fn value(&mut self) -> Option<String> {
        while self.0.next_if(|letter| matches!(letter, ' ' | '\t')).is_some() {}
        match self.next() {
            None | Some('\n') => return Some(String::new()),
            Some('=') => {}
            Some(_) => {
                self.skip_line();
                return None;
            }
        }
        let (mut value, mut is_quoted) = (String::new(), false);
        // How much of the value counts: not the blanks at its end, unless they are quoted.
        let mut counted = 0;
        while let Some(letter) = self.next() {
            match letter {
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
                letter if is_blank(letter) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(letter);
                    }
                    continue;
                }
                letter => value.push(letter),
            }
            counted = value.len();
        }
        value.truncate(counted);
        Some(value)
    }
}

/// Returns whether git takes a letter for a blank.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

fn unescaped(letter: char) -> char {
    match letter {
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
    fn sections_of_something() {
        let text = "[remote \"a \\\"b\\\" ] c\"]\n\turl = x\n[include \"]\"] path = y\n[user \"\"] name = z\n[core] a\n";
        assert_eq!(listed(text), ["remote.a \"b\" ] c.url=x", "include.].path=y", "user..name=z", "core.a="]);
        assert!(!read("[user \"x\"] name = y")[0].is("user", "name"));
        assert!(read("[USER] NAME = y")[0].is("user", "name"));
    }

    #[test]
    fn values_that_go_on() {
        assert_eq!(listed("[a]\nb = c \\\n  d\ne = f\n"), ["a.b=c   d", "a.e=f"]);
        assert_eq!(listed("[a]\nb = c \\\r\n  d\n"), ["a.b=c   d"]);
        // A backslash that is meant does not make the value go on.
        assert_eq!(listed("[a]\nb = c\\\\\ne = f\n"), ["a.b=c\\", "a.e=f"]);
        assert_eq!(listed("[a] b = \" c \" \"d\\n\\te\" \n"), ["a.b= c  d\n\te"]);
    }

    #[test]
    fn what_git_would_refuse_hides_nothing() {
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
                .output();
            let Ok(git) = git else {
                eprintln!("SKIPPED: git is not installed");
                return;
            };
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
