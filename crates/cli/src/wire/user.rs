//! The user's name and address from git's settings, as variables for tools.

use repertoire_exec::GitUser;
use repertoire_exec::git::settings::{self, GitSetting};

/// The variable with the user's name.
const NAME: &str = "REPERTOIRE_USER_NAME";
/// The variable with the user's address.
const EMAIL: &str = "REPERTOIRE_USER_EMAIL";

/// Returns `variables` with the user's name and address from their git settings, unless the variables have
/// them.
pub(super) fn with_user(mut variables: Vec<(String, String)>) -> Vec<(String, String)> {
    let files = GitUser::of(&variables).settings;
    let settings: Vec<GitSetting> = files.iter().flat_map(|file| settings::read_file(file)).collect();
    for (variable, key) in [(NAME, "name"), (EMAIL, "email")] {
        let is_set = variables.iter().any(|(name, _)| name == variable);
        let value = user_setting(&settings, key).filter(|_| !is_set);
        variables.extend(value.map(|value| (variable.to_owned(), value)));
    }
    variables
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
