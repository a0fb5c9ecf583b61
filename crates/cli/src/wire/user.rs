//! The user's name and address from git's settings, as variables for tools.

use std::path::Path;

use repertoire_exec::git::settings::{self, GitSetting};

use crate::env::Env;
use repertoire::regular_file;

/// The variable with the user's name.
const NAME: &str = "REPERTOIRE_USER_NAME";
/// The variable with the user's address.
const EMAIL: &str = "REPERTOIRE_USER_EMAIL";

/// The most that is read of git's settings, in bytes.
const MAX_SETTINGS: u64 = 1 << 20;

/// Returns `variables` with the user's name and address from their git settings, unless the variables have
/// them.
pub(super) fn with_user(env: &Env, mut variables: Vec<(String, String)>) -> Vec<(String, String)> {
    // Git reads both, and what comes later counts.
    let files = [
        env.config_home().map(|home| home.join("git/config")),
        env.home().map(|home| home.join(".gitconfig")),
    ];
    let settings: Vec<GitSetting> = files.iter().flatten().flat_map(|file| settings(file)).collect();
    for (variable, key) in [(NAME, "name"), (EMAIL, "email")] {
        let is_set = variables.iter().any(|(name, _)| name == variable);
        let value = user_setting(&settings, key).filter(|_| !is_set);
        variables.extend(value.map(|value| (variable.to_owned(), value)));
    }
    variables
}

fn settings(file: &Path) -> Vec<GitSetting> {
    let bytes = regular_file::read(file, MAX_SETTINGS).unwrap_or_default();
    settings::read(&String::from_utf8_lossy(&bytes))
}

/// Returns the value of `name` of `[user]`, in one line; the last one counts, as with git.
fn user_setting(settings: &[GitSetting], name: &str) -> Option<String> {
    let last = settings.iter().rfind(|setting| setting.is("user", name))?;
    let value: String = last.value.chars().filter(|letter| !letter.is_control()).collect();
    Some(value).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_address_come_from_git_settings() {
        let settings = settings::read(
            "[core]\n\tname = wrong\n[user]\n\tname = Ada\n\temail = old@example.org\n[user \"other\"]\n\tname = Wrong\n\
             [user] email = \"ada\\n@example.org\"\n[alias]\n\temail = wrong\n",
        );
        assert_eq!(user_setting(&settings, "name").as_deref(), Some("Ada"));
        assert_eq!(user_setting(&settings, "email").as_deref(), Some("ada@example.org"));
        assert_eq!(user_setting(&settings::read("[user]\n\tname\n\temail =\n"), "email"), None);
        assert_eq!(user_setting(&settings::read("name = x\n"), "name"), None);
    }
}
