//! Who the user is, for tools that ask: what they told git of themselves.

use std::path::Path;

use crate::env::Env;
use crate::regular_file;

/// The variable with the user's name.
const NAME: &str = "REPERTOIRE_USER_NAME";
/// The variable with the user's address.
const EMAIL: &str = "REPERTOIRE_USER_EMAIL";

/// The most that is read of git's settings, in bytes.
const MAX_SETTINGS: u64 = 1 << 20;

/// Returns `variables` with who the user is by their own settings of git, where those say so and the variables do not.
pub(super) fn with_user(env: &Env, mut variables: Vec<(String, String)>) -> Vec<(String, String)> {
    // Git reads both, and what comes later counts.
    let files = [
        env.config_home().map(|home| home.join("git/config")),
        env.home().map(|home| home.join(".gitconfig")),
    ];
    let texts: Vec<String> = files.iter().flatten().filter_map(|file| settings(file)).collect();
    for (variable, key) in [(NAME, "name"), (EMAIL, "email")] {
        let is_set = variables.iter().any(|(name, _)| name == variable);
        let value = texts.iter().rev().find_map(|text| user_setting(text, key)).filter(|_| !is_set);
        variables.extend(value.map(|value| (variable.to_owned(), value)));
    }
    variables
}

fn settings(file: &Path) -> Option<String> {
    let bytes = regular_file::read(file, MAX_SETTINGS).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns what the settings of git in `text` say under `key` of `[user]`; the last one counts.
fn user_setting(text: &str, key: &str) -> Option<String> {
    let (mut is_user, mut found) = (false, None);
    for line in text.lines().map(str::trim) {
        let entry = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((section, rest)) => {
                is_user = section.trim().eq_ignore_ascii_case("user");
                rest
            }
            None => line,
        };
        if let Some((name, value)) = entry.split_once('=').filter(|_| is_user)
            && name.trim().eq_ignore_ascii_case(key)
        {
            found = Some(plain(value)).filter(|value| !value.is_empty());
        }
    }
    found
}

/// Returns `value` without quotes and the comment behind it.
fn plain(value: &str) -> String {
    let (mut plain, mut is_quoted) = (String::new(), false);
    let mut letters = value.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => plain.extend(letters.next()),
            letter if letter.is_control() => {}
            letter => plain.push(letter),
        }
    }
    plain.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_was_told_of_the_user() {
        let text = "# mine\n[core]\n\tname = wrong\n[User] # me\n\tname = \"Ada # Lovelace\" ; really\n\temail = a@example.org\n\
                    [user \"other\"]\n\tname = Wrong\n[user] email = ada@example.org # new\n[alias]\n\temail = wrong\n";
        assert_eq!(user_setting(text, "name").as_deref(), Some("Ada # Lovelace"));
        assert_eq!(user_setting(text, "email").as_deref(), Some("ada@example.org"));
        assert_eq!(user_setting("[user]\n\tname\n\temail =\n", "email"), None);
        assert_eq!(user_setting("name = x\n", "name"), None);
    }
}
