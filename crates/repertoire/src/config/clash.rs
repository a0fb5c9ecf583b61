//! Clashes between the names of tools or arguments.

use super::error::ConfigError;
use super::settings::Settings;
use super::tools::{ARGUMENT_KEYS, TOOL_KEYS};
use crate::tool::ToolNames;

/// Returns the error about two tools, or two arguments of one tool, that would have one name.
pub(super) fn clash(settings: &Settings) -> Option<ConfigError> {
    let name = settings.session.clash()?;
    let tools = keys_of("tools.names", &TOOL_KEYS, &settings.session.tools.names.all(), name);
    let usual = keys_of("tools.names", &TOOL_KEYS, &ToolNames::default().all(), name);
    let arguments = keys_of("tools.args", &ARGUMENT_KEYS, &settings.session.tools.arguments.all(), name);
    let (message, hint) = match (&*usual, &*tools, &*arguments) {
        ([other], [one, ..], _) if one != other => (
            format!("`{one}` is \"{name}\", the usual name of the tool of `{other}`"),
            "a tool answers to its usual name too; choose another",
        ),
        (_, [one, other, ..], _) | (_, _, [one, other, ..]) => {
            (format!("`{one}` and `{other}` are both \"{name}\""), "give one of them another name")
        }
        (_, _, keys) => {
            let key = keys.first().map_or("tools.args", String::as_str);
            (
                format!("`{key}` is \"{name}\", which another argument of the same tool is called"),
                "choose another name",
            )
        }
    };
    Some(ConfigError::new(message).hint(hint))
}

/// Returns the error about two tools of one agent, or two arguments of one, that would have one name.
pub(super) fn clash_of_agents(settings: &Settings) -> Option<ConfigError> {
    settings.agents.values().find_map(|configured| {
        let agent = &configured.agent;
        let session = settings.session.with_tools(&agent.tools);
        let name = session.clash()?;
        let message = format!(
            "two tools of the agent `{}`, or two arguments of one, are called \"{name}\"",
            agent.name
        );
        Some(
            ConfigError::new(message)
                .hint("a tool answers to its usual name too; choose another in its `tools`"),
        )
    })
}

/// Returns those of the `keys` of `table` whose value, in the same place of `names`, is `name`.
fn keys_of(table: &str, keys: &[&str], names: &[&str], name: &str) -> Vec<String> {
    let pairs = keys.iter().zip(names).filter(|(_, value)| **value == name);
    pairs.map(|(key, _)| format!("{table}.{key}")).collect()
}

#[cfg(test)]
mod tests {
    use repertoire_model::Profile;

    use super::*;
    use crate::SessionOptions;

    #[test]
    fn names_that_clash_are_an_error() {
        let check = |change: fn(&mut SessionOptions), expect: Option<&str>| {
            let mut settings = Settings::of(Profile::Standard);
            change(&mut settings.session);
            assert_eq!(clash(&settings).map(|error| error.message().to_owned()).as_deref(), expect);
        };
        check(|_| {}, None);
        check(
            |options| (options.tools.names.load, options.tools.names.list) = ("x".to_owned(), "x".to_owned()),
            Some("`tools.names.load` and `tools.names.list` are both \"x\""),
        );
        check(
            |options| options.tools.names.load = "list_skills".to_owned(),
            Some("`tools.names.load` is \"list_skills\", the usual name of the tool of `tools.names.list`"),
        );
        check(
            |options| options.tools.arguments.path = "skill".to_owned(),
            Some("`tools.args.skill` and `tools.args.path` are both \"skill\""),
        );
        check(
            |options| options.tools.arguments.name = "force".to_owned(),
            Some("`tools.args.name` is \"force\", which another argument of the same tool is called"),
        );
        check(
            |options| options.tools.arguments.skill = "directory".to_owned(),
            Some("`tools.args.skill` is \"directory\", which another argument of the same tool is called"),
        );
        // The two stand in different tools.
        check(|options| options.tools.arguments.skill = "name".to_owned(), None);
        check(|options| options.tools.arguments.name = "directory".to_owned(), None);
    }
}
