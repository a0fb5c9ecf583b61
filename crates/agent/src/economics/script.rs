//! Scripts of conversations.

use serde::Deserialize;

use super::input_error::InputError;

/// The most turns of a script.
const MAX_TURNS: u32 = 1_000;

/// The most tokens of a message in a script.
const MAX_MESSAGE_TOKENS: u32 = 100_000;

/// The course of a conversation: its turns, the sizes of messages, and what is done with skills.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Script {
    /// The number of turns: messages of the user that the model answers.
    pub turns: u32,
    /// The tokens of a message of the user.
    pub user_tokens: u32,
    /// The tokens of an answer of the model, beside its calls.
    pub assistant_tokens: u32,
    /// Calls of the model, in order.
    pub actions: Vec<Action>,
}

/// A call of the model in a script.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Action {
    /// The turn in which it is made, from 1.
    pub turn: u32,
    /// The kind of call.
    pub action: ActionKind,
    /// The name of the skill.
    pub skill: String,
    /// The file that is read.
    #[serde(default)]
    pub path: Option<String>,
}

/// The kind of a call in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionKind {
    /// A skill is loaded.
    Load,
    /// A file of a skill is read.
    Read,
    /// A skill is unloaded.
    Unload,
}

impl Default for Script {
    fn default() -> Self {
        Self { turns: 30, user_tokens: 100, assistant_tokens: 300, actions: Vec::new() }
    }
}

impl Script {
    /// Reads a script from the text of a JSON file.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        // Serde takes an array for the fields of a struct in their order.
        if text.trim_start().starts_with('[') {
            return Err(InputError::new("it is an array and not an object".to_owned()));
        }
        let script: Self = serde_json::from_str(text).map_err(|error| InputError::new(error.to_string()))?;
        script.check()?;
        Ok(script)
    }

    /// Returns the script without calls for so many turns.
    pub fn of_turns(turns: u32) -> Result<Self, InputError> {
        let script = Self { turns, ..Self::default() };
        script.check()?;
        Ok(script)
    }

    /// Returns the script with the usual calls: three skills are loaded in turns 1, 8 and 15, a file of one of them is read in the turn
    /// after it is loaded, and the first is unloaded in turn 22. Calls behind the last turn are left out.
    #[must_use]
    pub fn with_usual_actions(mut self, skills: &[String], file: Option<(&str, &str)>) -> Self {
        let action = |turn, action, skill: &str| Action { turn, action, skill: skill.to_owned(), path: None };
        let loads = [1, 8, 15].into_iter().zip(skills);
        for (turn, skill) in loads {
            self.actions.push(action(turn, ActionKind::Load, skill));
            if let Some((_, path)) = file.filter(|(name, _)| name == skill) {
                let read = action(turn + 1, ActionKind::Read, skill);
                self.actions.push(Action { path: Some(path.to_owned()), ..read });
            }
        }
        self.actions.extend(skills.first().map(|skill| action(22, ActionKind::Unload, skill)));
        self.actions.retain(|action| action.turn <= self.turns);
        self
    }

    /// Returns the skill that is loaded first.
    pub fn first_loaded(&self) -> Option<&str> {
        let loads = self.actions.iter().filter(|action| action.action == ActionKind::Load);
        loads.min_by_key(|action| action.turn).map(|action| action.skill.as_str())
    }

    fn check(&self) -> Result<(), InputError> {
        if !(1..=MAX_TURNS).contains(&self.turns) {
            return Err(InputError::new(format!("`turns` must be 1 to {MAX_TURNS}, not {}", self.turns)));
        }
        let sizes = [("user_tokens", self.user_tokens), ("assistant_tokens", self.assistant_tokens)];
        if let Some((field, size)) = sizes.iter().find(|(_, size)| !(1..=MAX_MESSAGE_TOKENS).contains(size)) {
            return Err(InputError::new(format!("`{field}` must be 1 to {MAX_MESSAGE_TOKENS}, not {size}")));
        }
        self.actions.iter().enumerate().try_for_each(|(position, action)| {
            let problem = match (action.action, &action.path) {
                _ if !(1..=self.turns).contains(&action.turn) => {
                    format!("`turn` must be 1 to {}, not {}", self.turns, action.turn)
                }
                (ActionKind::Read, None) => "`read` needs a `path`".to_owned(),
                (ActionKind::Load | ActionKind::Unload, Some(_)) => "only `read` has a `path`".to_owned(),
                _ => return Ok(()),
            };
            Err(InputError::new(format!("action {}: {problem}", position + 1)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_with_the_usual_sizes() {
        let script = Script::parse(
            r#"{"turns": 3, "actions": [{"turn": 1, "action": "load", "skill": "git"}, {"turn": 2, "action": "read", "skill": "git", "path": "a.md"}]}"#,
        )
        .unwrap();
        assert_eq!((script.turns, script.user_tokens, script.assistant_tokens), (3, 100, 300));
        assert_eq!(script.first_loaded(), Some("git"));
        assert_eq!(script.actions[1].path.as_deref(), Some("a.md"));
    }

    #[test]
    fn unusable_scripts_are_errors_that_say_where() {
        for (text, error) in [
            ("3", "invalid type: integer `3`"),
            (r#"{"turn": 3}"#, "unknown field `turn`"),
            (r#"{"turns": 0}"#, "`turns` must be 1 to 1000, not 0"),
            (r#"{"user_tokens": 0}"#, "`user_tokens` must be 1 to 100000, not 0"),
            (
                r#"{"actions": [{"turn": 31, "action": "load", "skill": "a"}]}"#,
                "action 1: `turn` must be 1 to 30",
            ),
            (
                r#"{"actions": [{"turn": 1, "action": "read", "skill": "a"}]}"#,
                "action 1: `read` needs a `path`",
            ),
            (
                r#"{"actions": [{"turn": 1, "action": "load", "skill": "a", "path": "b"}]}"#,
                "only `read` has a `path`",
            ),
            (r#"{"actions": [{"turn": 1, "action": "drop", "skill": "a"}]}"#, "unknown variant `drop`"),
        ] {
            let message = Script::parse(text).unwrap_err().to_string();
            assert!(message.contains(error), "{text}: {message}");
        }
    }

    #[test]
    fn the_usual_actions_end_with_the_last_turn() {
        let skills = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let turns = |turns| {
            let script = Script::of_turns(turns).unwrap().with_usual_actions(&skills, Some(("b", "f.md")));
            script.actions.iter().map(|action| (action.turn, action.action)).collect::<Vec<_>>()
        };
        use ActionKind::{Load, Read, Unload};
        assert_eq!(turns(30), [(1, Load), (8, Load), (9, Read), (15, Load), (22, Unload)]);
        assert_eq!(turns(8), [(1, Load), (8, Load)]);
    }
}
