//! Edits JSON that may have comments and trailing commas, with the syntax tree of `jsonc-parser`.
//!
//! Objects on one line are broken into several where a key is added to them.

use jsonc_parser::cst::{CstInputValue, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::{Map, Value};

use super::text::{EditFault, Spot};

pub(super) const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Returns the document as JSON; a file of nothing but blanks and comments is an empty object. If a key
/// occurs twice, the last one counts, and editing the first is refused.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, EditFault> {
    match parse_to_serde_value(text, &OPTIONS).map_err(|error| syntax(text, &error))? {
        None => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(_) => Err(EditFault::at(text, text.len() - text.trim_start().len(), "it is not an object")),
    }
}

pub(super) fn syntax(text: &str, error: &ParseError) -> EditFault {
    EditFault::at(text, error.range().start, error.kind().to_string().to_lowercase())
}

/// Changes the entry at `spot`; see [`super::set`].
pub(super) fn set(
    text: &str,
    spot: Spot<'_>,
    existing: Option<&Map<String, Value>>,
    wanted: Option<&Map<String, Value>>,
) -> Result<String, EditFault> {
    let root = tree(text)?;
    let object = root.object_value_or_set();
    let table = spot.table.split('/').fold(object, |object, key| object.object_value_or_set(key));
    match (table.object_value(spot.name), wanted) {
        (_, None) => table.get(spot.name).ok_or_else(|| EditFault::missing(spot))?.remove(),
        (None, Some(wanted)) => drop(table.append(spot.name, input(&Value::Object(wanted.clone())))),
        (Some(entry), Some(wanted)) => {
            for property in entry.properties() {
                let name = property.name().and_then(|name| name.decoded_value().ok()).unwrap_or_default();
                if !wanted.contains_key(&name) {
                    property.remove();
                }
            }
            let is_right = |key: &str, value| existing.and_then(|existing| existing.get(key)) == Some(value);
            for (key, value) in wanted.iter().filter(|(key, value)| !is_right(key, value)) {
                match entry.get(key) {
                    Some(property) => property.set_value(input(value)),
                    None => drop(entry.append(key, input(value))),
                }
            }
        }
    }
    Ok(root.to_string())
}

pub(super) fn tree(text: &str) -> Result<CstRootNode, EditFault> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| syntax(text, &error))
}

pub(super) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
