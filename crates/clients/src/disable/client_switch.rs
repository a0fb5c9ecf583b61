//! The switches that clients have of their own for single skills.
//!
//! Claude Code has `skillOverrides` in its settings, opencode `permission.skill`, where the last match
//! counts. Codex has tables `skills.config` with the path of a skill, in the user's configuration alone.

use std::path::PathBuf;

use repertoire_model::SkillName;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toml_edit::{Item, Table, value};

use crate::edit::{EditFault, ValueEdit, has_table, push_table, remove_table, restore_value, set_value};
use crate::{Client, Owner, Places};

/// The list of tables of Codex.
const CODEX_LIST: (&str, &str) = ("skills", "config");

/// The switch of a client that was turned off for a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedSwitch {
    /// The client.
    pub(crate) client: String,
    /// The skill.
    pub(super) skill: String,
    /// The name by which the client knows it, if that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The path of its `SKILL.md`, where the switch goes by paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The value that the switch had before.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    /// The number of objects that were made around it.
    #[serde(default)]
    made: usize,
    /// `true` if the file was made for it.
    #[serde(default)]
    pub(super) is_new_file: bool,
}

impl RecordedSwitch {
    /// Returns the name by which the client knows the skill.
    pub(super) fn key(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.skill)
    }

    /// Returns the path or the name by which the client knows the skill.
    pub(crate) fn path_or_key(&self) -> &str {
        self.path.as_deref().unwrap_or_else(|| self.key())
    }

    /// Takes over what was made for `other` and stays because of this switch.
    pub(super) fn inherit(&mut self, other: &Self) {
        self.made = self.made.max(other.made);
        self.is_new_file |= other.is_new_file;
    }
}

/// The place of a switch in the configuration of a client.
enum SwitchPlace {
    /// The value at these keys and the name of the skill.
    Value(&'static [&'static str], &'static str),
    /// A table of Codex.
    Table,
}

/// Returns `true` if `client` has a switch of its own for single skills.
pub fn has_switch(client: &str) -> bool {
    place_of(client).is_some()
}

/// Returns the reason that `client` has no switch for a skill, or for one of `plugin`; `None` if it has one.
pub(super) fn missing_switch(client: &str, plugin: Option<&str>) -> Option<String> {
    match (place_of(client), plugin) {
        (None, _) => Some("it has no switch for skills".to_owned()),
        // `skillOverrides` does not hold for skills of plugins.
        (Some(SwitchPlace::Value(..)), Some(plugin)) => Some(format!(
            "it has no switch for single skills of the plugin `{plugin}`; `/plugin` switches all of it"
        )),
        _ => None,
    }
}

fn place_of(client: &str) -> Option<SwitchPlace> {
    match client {
        "claude-code" => Some(SwitchPlace::Value(&["skillOverrides"], "off")),
        "opencode" => Some(SwitchPlace::Value(&["permission", "skill"], "deny")),
        "codex" => Some(SwitchPlace::Table),
        _ => None,
    }
}

/// Returns the file with the switch of `client` for `owner`, or why there is not one.
pub(super) fn switch_file(places: &Places, owner: Owner, client: &Client) -> Result<PathBuf, String> {
    if client.id == "codex" && owner == Owner::Project {
        return Err("it has this switch only in the user's configuration".to_owned());
    }
    let files = match (client.id, owner) {
        ("claude-code", Owner::User) => places.path(owner, "$CLAUDE/settings.json").into_iter().collect(),
        ("claude-code", Owner::Project) => places.path(owner, ".claude/settings.json").into_iter().collect(),
        _ => places.configuration(client, owner),
    };
    let found = files.iter().find(|file| !matches!(file.try_exists(), Ok(false))).or_else(|| files.first());
    found.cloned().ok_or_else(|| "there is no home directory".to_owned())
}

/// Returns the switch for the skill that `client` knows as `key`, in words, as it is written in the file.
pub(super) fn in_words(client: &str, skill: &str, key: &str) -> String {
    match place_of(client) {
        Some(SwitchPlace::Value(above, value)) => format!("{}.{key} = \"{value}\"", above.join(".")),
        Some(SwitchPlace::Table) => format!("skills.config of {skill}: enabled = false"),
        None => skill.to_owned(),
    }
}

/// Returns `text` with the switch of `client` turned off for the skill `name`, which the client knows by the
/// name or the path `key`; `None` if it is off already.
pub(super) fn turn_off(
    text: &str,
    client: &Client,
    name: &SkillName,
    key: &str,
) -> Result<Option<(String, RecordedSwitch)>, EditFault> {
    let mut switch = RecordedSwitch {
        client: client.id.to_owned(),
        skill: name.to_string(),
        key: None,
        path: None,
        before: None,
        made: 0,
        is_new_file: false,
    };
    match place_of(client.id) {
        None => Ok(None),
        Some(SwitchPlace::Value(above, off)) => {
            switch.key = (key != name.as_str()).then(|| key.to_owned());
            let path: Vec<&str> = above.iter().copied().chain([key]).collect();
            let ValueEdit { text, before, made } = set_value(text, &path, &json!(off))?;
            if before == Some(json!(off)) {
                return Ok(None);
            }
            (switch.before, switch.made) = (before, made);
            Ok(Some((text, switch)))
        }
        Some(SwitchPlace::Table) => {
            if has_table(text, CODEX_LIST, |table| is_off(table, key))? {
                return Ok(None);
            }
            let mut table = Table::new();
            table.insert("path", value(key));
            table.insert("enabled", value(false));
            switch.path = Some(key.to_owned());
            Ok(Some((push_table(text, CODEX_LIST, table)?, switch)))
        }
    }
}

/// Returns `text` with the switch as it was before; `None` if it was changed since.
pub(super) fn turn_on(text: &str, switch: &RecordedSwitch) -> Result<Option<String>, EditFault> {
    match (place_of(&switch.client), &switch.path) {
        (Some(SwitchPlace::Value(above, off)), _) => {
            let path: Vec<&str> = above.iter().copied().chain([switch.key()]).collect();
            restore_value(text, &path, &json!(off), switch.before.as_ref(), switch.made)
        }
        (Some(SwitchPlace::Table), Some(path)) => remove_table(text, CODEX_LIST, |table| is_off(table, path)),
        _ => Ok(None),
    }
}

/// Returns `true` if `table` switches the skill at `path` off, and says nothing else.
fn is_off(table: &Table, path: &str) -> bool {
    table.get("path").and_then(Item::as_str) == Some(path)
        && table.get("enabled").and_then(Item::as_bool) == Some(false)
        && table.len() == 2
}
