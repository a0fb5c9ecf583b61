//! The type of built-in tools.

use repertoire_model::catalog::Format;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::definition::{Definition, text};
use super::reply::CallResult;
use crate::event::EventKind;
use crate::future::BoxFuture;
use crate::session::{Session, SessionOptions, ToolOptions};

/// The input for the definition of a built-in tool.
pub(crate) struct DefinitionContext<'a> {
    pub(crate) options: &'a SessionOptions,
    /// The names in the catalog, sorted; `None` if there are too many to list.
    pub(crate) skills: Option<&'a [String]>,
}

pub(crate) struct Builtin {
    /// Its default name, which is always understood.
    pub(crate) canonical: &'static str,
    /// The kind of the events of its calls.
    pub(crate) kind: EventKind,
    /// Returns its description and the schema of its arguments.
    pub(super) define: fn(&DefinitionContext<'_>) -> (String, Value),
    /// Answers a call.
    pub(super) call: for<'a> fn(&'a Session, Arguments<'a>) -> BoxFuture<'a, CallResult>,
}

impl Builtin {
    pub(crate) fn definition(&self, context: &DefinitionContext<'_>) -> Definition {
        let ToolOptions { names, descriptions, .. } = &context.options.tools;
        let (description, mut input_schema) = (self.define)(context);
        let required = input_schema["required"].clone();
        if let (Some(properties), Some(required)) =
            (input_schema["properties"].as_object_mut(), required.as_array())
        {
            let is_required = |argument: &str| required.iter().any(|name| name == argument);
            properties.retain(|argument, _| is_required(argument) || !context.options.hides(argument));
        }
        let description =
            descriptions.get(self.canonical).filter(|own| !own.is_empty()).cloned().unwrap_or(description);
        Definition { name: names.configured(self.canonical).to_owned(), description, input_schema }
    }

    /// Answers a call with `arguments` of `principal`, which belongs to `conversation`.
    pub(crate) fn call<'a>(
        &self,
        session: &'a Session,
        arguments: &'a Map<String, Value>,
        conversation: &'a str,
        principal: Option<&'a str>,
    ) -> BoxFuture<'a, CallResult> {
        let mut arguments = Arguments::new(arguments, session.options(), conversation);
        arguments.principal = principal;
        (self.call)(session, arguments)
    }
}

/// Returns the schema of the name of a skill; lists all names if they are few.
pub(super) fn skill_name(context: &DefinitionContext<'_>) -> Value {
    let catalog = if context.options.catalog.format == Format::Menu { "menu" } else { "catalog" };
    let description = format!("Skill name from the {catalog}");
    match context.skills {
        Some(names) if !names.is_empty() => {
            json!({"type": "string", "description": description, "enum": names})
        }
        _ => text(&description),
    }
}
