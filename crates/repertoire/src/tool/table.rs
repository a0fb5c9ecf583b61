//! The table of the house's own tools.

use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::definition::{Answered, Definition};
use super::names::ToolNames;
use super::{
    call_skill_tool, list_skill_files, list_skills, load_skill, read_skill_file, run_skill_script,
    search_skills, unload_skill,
};
use crate::event::EventKind;
use crate::provider::BoxFuture;
use crate::session::{Session, SessionOptions};

/// What a definition is made from.
pub(crate) struct View<'a> {
    /// The host's choices.
    pub(crate) options: &'a SessionOptions,
    /// The names in the catalog, sorted; `None` where they are too many to list.
    pub(crate) skills: Option<&'a [String]>,
}

/// A tool of the house.
pub(crate) struct Builtin {
    /// The name it goes by unless the host chose another; always understood.
    pub(crate) canonical: &'static str,
    /// What the host calls it.
    pub(crate) name: fn(&ToolNames) -> &str,
    /// What the journal calls a call.
    pub(crate) kind: EventKind,
    /// Returns what it does and what it takes.
    pub(super) define: fn(&View<'_>) -> (String, Value),
    /// Answers a call.
    pub(super) call: for<'a> fn(&'a Session, Arguments<'a>) -> BoxFuture<'a, Answered>,
}

/// The tools, sorted by their usual names.
pub(crate) const BUILTINS: &[Builtin] = &[
    call_skill_tool::TOOL,
    list_skill_files::TOOL,
    list_skills::TOOL,
    load_skill::TOOL,
    read_skill_file::TOOL,
    run_skill_script::TOOL,
    search_skills::TOOL,
    unload_skill::TOOL,
];

impl Builtin {
    /// Returns what a model is told.
    pub(crate) fn definition(&self, view: &View<'_>) -> Definition {
        let (description, input_schema) = (self.define)(view);
        Definition { name: (self.name)(&view.options.names).to_owned(), description, input_schema }
    }

    /// Answers a call with `arguments`.
    pub(crate) fn call<'a>(
        &self,
        session: &'a Session,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Answered> {
        let aliases = session.options().argument_aliases;
        (self.call)(session, Arguments::new(arguments, aliases))
    }
}

/// Returns the schema of an object with `properties`, of which `required` must be given.
pub(super) fn object(properties: Vec<(&str, Value)>, required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Returns the schema of a text.
pub(super) fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// Returns the schema of the name of a skill, with all names where they are few.
pub(super) fn skill_name(view: &View<'_>) -> Value {
    match view.skills {
        Some(names) if !names.is_empty() => {
            json!({"type": "string", "description": "Skill name from the catalog", "enum": names})
        }
        _ => text("Skill name from the catalog"),
    }
}
