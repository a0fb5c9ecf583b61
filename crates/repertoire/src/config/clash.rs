//! Clashes between the names of tools or arguments.

use super::error::ConfigError;
use crate::SessionOptions;
use crate::tool::{ArgumentNames, ToolNames};

/// The arguments of `load_skill` and `unload_skill` whose names are fixed.
const LOAD_ARGUMENTS: [&str; 4] = ["force", "reference", "script", "asset"];
/// The argument of `list_skill_files` whose name is fixed.
const LIST_ARGUMENTS: [&str; 1] = ["directory"];

/// Returns the error about two tools, or two arguments of one tool, that would have one name.
pub(super) fn clash(options: &SessionOptions) -> Option<ConfigError> {
    let (names, usual) = (tools(&options.names), ToolNames::default());
    let usual = tools(&usual);
    for (index, (key, name)) in names.iter().enumerate() {
        if let Some((other, _)) = names[..index].iter().find(|(_, other)| other == name) {
            return Some(twice("tools.names", other, key, name));
        }
        // A tool is always known by its usual name too, so no other may have it.
        let mut others = usual.iter().enumerate().filter(|(other, _)| *other != index);
        if let Some((_, (other, _))) = others.find(|(_, (_, usual))| usual == name) {
            let message = format!(
                "`tools.names.{key}` is \"{name}\", the usual name of the tool of `tools.names.{other}`"
            );
            return Some(
                ConfigError::new(message).hint("a tool answers to its usual name too; choose another"),
            );
        }
    }
    let ArgumentNames { name, skill, path, start_line, end_line } = &options.arguments;
    let of_file = [("skill", skill), ("path", path), ("start_line", start_line), ("end_line", end_line)];
    for (index, (key, name)) in of_file.iter().enumerate() {
        if let Some((other, _)) = of_file[..index].iter().find(|(_, other)| other == name) {
            return Some(twice("tools.args", other, key, name));
        }
    }
    let fixed = [("name", name, &LOAD_ARGUMENTS[..]), ("skill", skill, &LIST_ARGUMENTS[..])];
    let (key, name, _) = fixed.into_iter().find(|(_, name, fixed)| fixed.contains(&name.as_str()))?;
    let message =
        format!("`tools.args.{key}` is \"{name}\", which another argument of the same tool is called");
    Some(ConfigError::new(message).hint("choose another name"))
}

fn tools(names: &ToolNames) -> [(&'static str, &str); 8] {
    let ToolNames { load, unload, read_file, list_files, list, search, call, run_script } = names;
    [
        ("load", load),
        ("unload", unload),
        ("read_file", read_file),
        ("list_files", list_files),
        ("list", list),
        ("search", search),
        ("call", call),
        ("run_script", run_script),
    ]
}

fn twice(table: &str, one: &str, other: &str, name: &str) -> ConfigError {
    ConfigError::new(format!("`{table}.{one}` and `{table}.{other}` are both \"{name}\""))
        .hint("give one of them another name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_clash_are_an_error() {
        let check = |change: fn(&mut SessionOptions), expect: Option<&str>| {
            let mut options = SessionOptions::default();
            change(&mut options);
            assert_eq!(clash(&options).map(|error| error.message().to_owned()).as_deref(), expect);
        };
        check(|_| {}, None);
        check(
            |options| (options.names.load, options.names.list) = ("x".to_owned(), "x".to_owned()),
            Some("`tools.names.load` and `tools.names.list` are both \"x\""),
        );
        check(
            |options| options.names.load = "list_skills".to_owned(),
            Some("`tools.names.load` is \"list_skills\", the usual name of the tool of `tools.names.list`"),
        );
        check(
            |options| options.arguments.path = "skill".to_owned(),
            Some("`tools.args.skill` and `tools.args.path` are both \"skill\""),
        );
        check(
            |options| options.arguments.name = "force".to_owned(),
            Some("`tools.args.name` is \"force\", which another argument of the same tool is called"),
        );
        check(
            |options| options.arguments.skill = "directory".to_owned(),
            Some("`tools.args.skill` is \"directory\", which another argument of the same tool is called"),
        );
        // The two stand in different tools.
        check(|options| options.arguments.skill = "name".to_owned(), None);
        check(|options| options.arguments.name = "directory".to_owned(), None);
    }
}
