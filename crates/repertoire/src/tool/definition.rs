//! Definitions of tools, as models read them.

use serde_json::{Map, Value, json};

/// The definition of a tool, as models read it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// The description, for models.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
}

impl Definition {
    /// Returns the definition of the tool `name`.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self { name: name.into(), description: description.into(), input_schema }
    }
}

/// Returns the schema of an object with `properties`, of which `required` must be given.
pub(super) fn object(properties: Vec<(&str, Value)>, required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

pub(super) fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}
