//! The names of tools and arguments by which a transcript's calls are recognised.

use serde_json::Value;

use crate::SkillName;

/// Separators between a server and its tool in the names that MCP clients make up.
const SERVER_SEPARATOR: &str = "__";

/// The most bytes of a call's arguments that are read; arguments that name a skill are a hundredth of it.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// The longest name of a skill that is accepted, in bytes.
const MAX_NAME_BYTES: usize = 1024;

crate::options! {
    /// The names that calls of `load_skill` and `unload_skill` go by.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LoadToolNames {
        /// The tools that load a skill.
        pub load: Vec<String> = vec!["load_skill".to_owned()],
        /// The tools that unload one.
        pub unload: Vec<String> = vec!["unload_skill".to_owned()],
        /// Their arguments that may hold the name of the skill, in the order in which they are tried.
        pub name_arguments: Vec<String> = ["name", "skill_name", "skill_id", "skill"].map(str::to_owned).to_vec(),
        /// Arguments that make a call that loads a skill one that reads a file of it, unless they are null.
        pub file_arguments: Vec<String> = ["reference", "script", "asset"].map(str::to_owned).to_vec(),
    }
}

/// The effect of a call on the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEffect {
    Load,
    /// The name of a skill was called as if it were a tool, which loads the skill if the answer says so.
    LoadByName,
    Unload,
}

impl LoadToolNames {
    /// Returns the effect of a call of `tool`, maybe with a server's prefix (`mcp__repertoire__load_skill`).
    pub(super) fn effect(&self, tool: &str) -> CallEffect {
        let bare = bare(tool);
        let is_any = |names: &[String]| names.iter().any(|name| name == tool || name == bare);
        if is_any(&self.load) {
            CallEffect::Load
        } else if is_any(&self.unload) {
            CallEffect::Unload
        } else {
            CallEffect::LoadByName
        }
    }

    /// Returns the names of the skill that a call of `tool` with `arguments`, an object or JSON text,
    /// requests, likeliest first; empty without a name, and `None` if the call requests a file or no skill.
    pub(super) fn skill(&self, tool: &str, arguments: &Value) -> Option<Vec<SkillName>> {
        if self.effect(tool) == CallEffect::LoadByName {
            let is_long = tool.len() > MAX_NAME_BYTES;
            return Some(spellings(bare(tool))).filter(|names| !is_long && !names.is_empty());
        }
        let parsed: Value;
        let object = match arguments {
            Value::String(text) if text.len() <= MAX_ARGUMENT_BYTES => {
                parsed = serde_json::from_str(text).unwrap_or_default();
                parsed.as_object()
            }
            other => other.as_object(),
        };
        let Some(object) = object else { return Some(Vec::new()) };
        if self
            .file_arguments
            .iter()
            .any(|argument| object.get(argument).is_some_and(|value| !value.is_null()))
        {
            return None;
        }
        let named = self.name_arguments.iter().filter_map(|argument| object.get(argument)?.as_str());
        let mut named = named.filter(|name| name.len() <= MAX_NAME_BYTES).map(spellings);
        Some(named.find(|names| !names.is_empty()).unwrap_or_default())
    }
}

/// Returns the name of a tool without the prefix of a server.
fn bare(tool: &str) -> &str {
    tool.rsplit_once(SERVER_SEPARATOR).map_or(tool, |(_, bare)| bare)
}

/// Returns the names that `written` may mean: itself, the part after the source in `source:name`, and
/// `my-skill` for `My Skill`.
///
/// A text that looks like a path is no other spelling of a name.
fn spellings(written: &str) -> Vec<SkillName> {
    let (_, bare) = written.rsplit_once(':').unwrap_or(("", written));
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
    let slug = || {
        let is_name = bare.trim().starts_with(char::is_alphanumeric) && bare.chars().all(is_plain);
        SkillName::slug(bare).filter(|_| is_name)
    };
    let mut names: Vec<SkillName> =
        [SkillName::new(written), SkillName::new(bare), slug()].into_iter().flatten().collect();
    names.dedup();
    names
}
