//! Values of the keys of `[tools]`, for the whole configuration and for one agent.

use std::collections::{BTreeMap, BTreeSet};

use repertoire_model::text::is_control_or_invisible;
use repertoire_model::toolbox::is_tool_name;
use toml::de::DeValue;

use crate::tool::{BUILTINS, OPTIONAL_ARGUMENTS, OfferedTools, ToolNames};

/// The keys of `tools.names` and `tools.descriptions`, in the order of [`ToolNames::all`].
pub(super) const TOOL_KEYS: [&str; 11] = [
    "load",
    "unload",
    "read_file",
    "list_files",
    "list",
    "search",
    "call",
    "run_script",
    "propose_update",
    "propose",
    "review",
];

/// The keys of `tools.args`, which are the usual names of the arguments.
pub(super) const ARGUMENT_KEYS: [&str; 5] = ["name", "skill", "path", "start_line", "end_line"];

/// The longest text of one line, in bytes.
const MAX_LINE_BYTES: usize = 1024;

/// Returns whether `text` is one line of reasonable length.
pub(super) fn is_line(text: &str) -> bool {
    text.len() <= MAX_LINE_BYTES && !text.chars().any(is_control_or_invisible)
}

pub(super) fn offered(value: &DeValue<'_>) -> Option<OfferedTools> {
    match value {
        DeValue::String(word) if word == "all" => Some(OfferedTools::All),
        DeValue::String(word) if word == "needed" => Some(OfferedTools::Needed(None)),
        DeValue::String(word) if word == "minimal" => Some(OfferedTools::Minimal),
        DeValue::Array(_) => listed(value, &tool_words()).map(OfferedTools::Only),
        _ => None,
    }
}

/// Returns the tools that `word` stands for: `needed`, `all`, `minimal`, or names with commas between them.
pub(super) fn offered_word(word: &str) -> Option<OfferedTools> {
    match word {
        "all" => Some(OfferedTools::All),
        "needed" => Some(OfferedTools::Needed(None)),
        "minimal" => Some(OfferedTools::Minimal),
        names => known_words(names, &tool_words()).map(OfferedTools::Only),
    }
}

/// Returns the arguments that `names`, with commas between them, stand for.
pub(super) fn hidden_arguments_word(names: &str) -> Option<BTreeSet<String>> {
    known_words(names, &OPTIONAL_ARGUMENTS)
}

/// Returns the words of `text`, which has commas between them, if all of them are among `known`.
fn known_words(text: &str, known: &[&str]) -> Option<BTreeSet<String>> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| known.contains(&word).then(|| word.to_owned())).collect()
}

/// Returns the arguments that `value` of `tools.hide_args` names.
pub(super) fn hidden_arguments(value: &DeValue<'_>) -> Option<BTreeSet<String>> {
    listed(value, &OPTIONAL_ARGUMENTS)
}

/// Returns the usual names of the built-in tools.
pub(super) fn tool_words() -> Vec<&'static str> {
    BUILTINS.iter().map(|tool| tool.canonical).collect()
}

/// Returns the names of tools in a table with the keys of `tools.names`, by usual name.
pub(super) fn tool_names(table: &DeValue<'_>) -> Option<BTreeMap<String, String>> {
    by_usual_name(table, &TOOL_KEYS, &ToolNames::default().all(), is_tool_name)
}

/// Returns the descriptions in a table with the keys of `tools.descriptions`, by the usual names of tools.
pub(super) fn tool_descriptions(table: &DeValue<'_>) -> Option<BTreeMap<String, String>> {
    by_usual_name(table, &TOOL_KEYS, &ToolNames::default().all(), is_line)
}

/// Returns the names of arguments in a table with the keys of `tools.args`, by usual name.
pub(super) fn argument_names(table: &DeValue<'_>) -> Option<BTreeMap<String, String>> {
    by_usual_name(table, &ARGUMENT_KEYS, &ARGUMENT_KEYS, is_tool_name)
}

/// Returns the strings of the list `value`, if all of them are among `known`.
fn listed(value: &DeValue<'_>, known: &[&str]) -> Option<BTreeSet<String>> {
    let DeValue::Array(items) = value else { return None };
    let items = items.iter().map(|item| item.get_ref().as_str().filter(|word| known.contains(word)));
    items.map(|word| word.map(str::to_owned)).collect()
}

/// Returns the values of `table` by the usual name that stands where its key stands in `keys`.
fn by_usual_name(
    table: &DeValue<'_>,
    keys: &[&str],
    usual: &[&str],
    is_allowed: fn(&str) -> bool,
) -> Option<BTreeMap<String, String>> {
    let DeValue::Table(table) = table else { return None };
    let mut values = BTreeMap::new();
    for (key, value) in table {
        let index = keys.iter().position(|known| known == key.get_ref())?;
        let value = value.get_ref().as_str().filter(|value| is_allowed(value))?;
        values.insert((*usual.get(index)?).to_owned(), value.to_owned());
    }
    Some(values)
}
