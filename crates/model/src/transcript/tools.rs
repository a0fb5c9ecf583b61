//! The names by which a transcript's calls are known.

use serde_json::Value;

use crate::SkillName;

/// What separates a tool's name from the server that it belongs to, in the names that clients of MCP make up.
const SERVER_SEPARATOR: &str = "__";

/// The longest arguments of a call that are read, in bytes. Those that name a skill are a hundredth of it.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// The names that calls of `load_skill` and `unload_skill` go by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNames {
    /// The tools that load a skill.
    pub load: Vec<String>,
    /// The tools that unload one.
    pub unload: Vec<String>,
    /// Their arguments that may hold the name of the skill, in the order in which they are tried.
    pub name_arguments: Vec<String>,
}

/// What a call does to the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Load,
    Unload,
}

impl Default for ToolNames {
    fn default() -> Self {
        Self {
            load: vec!["load_skill".to_owned()],
            unload: vec!["unload_skill".to_owned()],
            name_arguments: ["name", "skill_name", "skill_id", "skill"].map(str::to_owned).to_vec(),
        }
    }
}

impl ToolNames {
    /// Returns what a call of `tool` does, with or without the prefix of a server (`mcp__repertoire__load_skill`).
    pub(super) fn deed(&self, tool: &str) -> Option<Deed> {
        let bare = tool.rsplit_once(SERVER_SEPARATOR).map_or(tool, |(_, bare)| bare);
        let is_any = |names: &[String]| names.iter().any(|name| name == tool || name == bare);
        match () {
            () if is_any(&self.load) => Some(Deed::Load),
            () if is_any(&self.unload) => Some(Deed::Unload),
            () => None,
        }
    }

    /// Returns the skill that a call with these arguments names, given as an object or as JSON in a string.
    pub(super) fn skill(&self, arguments: &Value) -> Option<SkillName> {
        let parsed: Value;
        let object = match arguments {
            Value::String(text) if text.len() <= MAX_ARGUMENT_BYTES => {
                parsed = serde_json::from_str(text).ok()?;
                parsed.as_object()?
            }
            other => other.as_object()?,
        };
        let named = self.name_arguments.iter().filter_map(|argument| object.get(argument)?.as_str());
        named.filter(|name| name.len() <= MAX_ARGUMENT_BYTES).find_map(SkillName::new)
    }
}
