//! Tells people which file disables a skill, and how to enable it.

use std::collections::BTreeMap;
use std::path::Path;

use repertoire::config::{ConfigFileOwner, DisabledPattern, KitChoice};
use repertoire::{Agent, Entry, Lookup, Snapshot, State};
use repertoire_model::text::count;

use super::environment as env;
use super::handle::Workspace;
use crate::error::Error;

/// The notice that a project leaves out all skills of the user.
const USER_OFF: &str = "repertoire.toml of the project leaves out all of your own skills (discovery.user = false); \
                        `discovery.user = true` in your own configuration brings them back";

impl Workspace {
    /// Returns the patterns of the configuration that disable `entry`.
    pub fn disabled_by(&self, entry: &Entry) -> impl Iterator<Item = &DisabledPattern> {
        self.settings.disabled_by(&entry.source, entry.name().as_str())
    }

    /// Returns the kits in use if `entry` is in none of them.
    pub fn kits_without(&self, entry: &Entry) -> Option<&KitChoice> {
        let is_left_out = self.settings.policy.leaves_out(&entry.source, entry.name().as_str());
        self.settings.kits_in_use.as_ref().filter(|_| is_left_out)
    }

    /// Returns the patterns that disable `entry`, each with its file, and the kits in use that it is not in.
    pub fn disabled_where(&self, entry: &Entry) -> String {
        let mut places: Vec<String> = self.disabled_by(entry).map(|it| self.pattern_and_file(it)).collect();
        places.extend(self.kits_without(entry).map(kits_in_use));
        places.join(" and ")
    }

    /// Returns what enables `entry`, a step each.
    pub fn enabling_steps(&self, entry: &Entry) -> Vec<String> {
        let mut steps: Vec<String> =
            self.disabled_by(entry).map(|it| format!("run `{}`", enable_command(it))).collect();
        steps.extend(self.kits_without(entry).map(|choice| {
            if choice.origin == env::KITS {
                format!("run `unset {}`", env::KITS)
            } else {
                "run `rep kit use --none`".to_owned()
            }
        }));
        steps
    }

    /// Returns `disabled` with its file.
    pub fn pattern_and_file(&self, disabled: &DisabledPattern) -> String {
        format!("`{}` in {}", disabled.pattern, self.shown(&disabled.file.display().to_string()))
    }

    /// Returns the error that `entry` is disabled.
    pub fn disabled_error(&self, entry: &Entry) -> Error {
        let message = format!("the skill `{}` is disabled by {}", entry.name(), self.disabled_where(entry));
        self.with_enable_hints(Error::no(message), entry)
    }

    /// Fails if `agent` is bound to a skill that is disabled.
    pub fn expect_enabled(&self, snapshot: &Snapshot, agent: &Agent) -> Result<(), Error> {
        let found = agent.bind.keys().chain(&agent.uses_skills).find_map(|id| match snapshot.find(id) {
            Lookup::Disabled(entry) => Some(entry),
            _ => None,
        });
        let Some(entry) = found else { return Ok(()) };
        let (agent, skill, by) = (&agent.name, entry.name(), self.disabled_where(entry));
        let message =
            format!("the agent `{agent}` is bound to the skill `{skill}`, which is disabled by {by}");
        Err(self.with_enable_hints(Error::usage(message), entry))
    }

    /// Returns the notices that files of the project disable skills of the user, a line per file.
    pub fn disabled_by_project(&self, snapshot: &Snapshot) -> Vec<String> {
        let mut files: BTreeMap<&Path, usize> = BTreeMap::new();
        let is_outside = |entry: &&Entry| entry.state == State::Disabled && !entry.is_of_project();
        for entry in snapshot.entries().iter().filter(is_outside) {
            let by_project = self.disabled_by(entry).find(|it| it.owner == ConfigFileOwner::Project);
            if let Some(it) = by_project {
                *files.entry(&it.file).or_default() += 1;
            }
        }
        let line = |(file, number): (&Path, usize)| {
            let file = self.shown(&file.display().to_string());
            let skills = count(number, "skill");
            format!(
                "{file} of the project disables {skills} from outside of it; `rep list --all` shows which"
            )
        };
        let mut notices: Vec<String> = files.into_iter().map(line).collect();
        if self.settings.user_off_by_project && self.options.roots.is_empty() {
            notices.push(USER_OFF.to_owned());
        }
        notices
    }

    /// Returns the notice that kits are in use, if skills are disabled by that.
    pub fn disabled_by_kits(&self, snapshot: &Snapshot) -> Option<String> {
        let choice = self.settings.kits_in_use.as_ref()?;
        let number = snapshot.entries().iter().filter(|entry| self.kits_without(entry).is_some()).count();
        let skills = count(number, "skill");
        (number > 0)
            .then(|| format!("{skills} disabled by {}; `rep list --all` shows which", kits_in_use(choice)))
    }

    fn with_enable_hints(&self, error: Error, entry: &Entry) -> Error {
        self.enabling_steps(entry).into_iter().fold(error, Error::hint)
    }
}

/// Returns the kits of `choice` with the origin of the choice.
pub fn kits_in_use(choice: &KitChoice) -> String {
    let (word, names) = (if choice.names.len() == 1 { "kit" } else { "kits" }, choice.names.join(", "));
    format!("the {word} in use ({names}, by {})", choice.origin)
}

/// Returns the command that takes `disabled` out of its file.
pub fn enable_command(disabled: &DisabledPattern) -> String {
    let file = match disabled.owner {
        ConfigFileOwner::User => String::new(),
        ConfigFileOwner::Project => "--project ".to_owned(),
        ConfigFileOwner::Named => format!("--config {} ", shell_word(&disabled.file.display().to_string())),
    };
    format!("rep enable {file}{}", shell_word(&disabled.pattern.to_string()))
}

/// Returns `word` as a shell takes it for one word.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:+@".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        for (word, expect) in [("pdf", "pdf"), ("user:a b:pdf-*", "'user:a b:pdf-*'"), ("a'b", r"'a'\''b'")] {
            assert_eq!(shell_word(word), expect);
        }
    }
}
