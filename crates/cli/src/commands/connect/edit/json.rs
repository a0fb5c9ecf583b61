//! Edits JSON that may have comments and trailing commas, with the syntax tree of `jsonc-parser`.
//!
//! Objects on one line are broken into several where a key is added to them.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::{Map, Value};

use super::text::{Fault, Spot};

const OPTIONS: ParseOptions = ParseOptions {
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

/// Returns the document as JSON; a file of nothing but blanks and comments is an empty object. Of keys that are there twice the last
/// one counts, and an edit of the other is refused.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, Fault> {
    match parse_to_serde_value(text, &OPTIONS).map_err(|error| syntax(text, &error))? {
        None => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(_) => Err(Fault::at(text, text.len() - text.trim_start().len(), "it is not an object")),
    }
}

fn syntax(text: &str, error: &ParseError) -> Fault {
    Fault::at(text, error.range().start, error.kind().to_string().to_lowercase())
}

/// Returns `text` with `entry` at `spot`, where nothing is yet.
pub(super) fn insert(text: &str, spot: Spot<'_>, entry: &Map<String, Value>) -> Result<String, Fault> {
    let root = tree(text)?;
    let table = root.object_value_or_set().object_value_or_set(spot.table);
    table.append(spot.name, input(&Value::Object(entry.clone())));
    Ok(root.to_string())
}

/// Returns `text` with just the keys of `wanted` in the entry at `spot`; those that are right already stay as they are written.
pub(super) fn change(text: &str, spot: Spot<'_>, wanted: &Map<String, Value>) -> Result<String, Fault> {
    let document = parse(text)?;
    let root = tree(text)?;
    let entry = table(&root, spot).and_then(|table| table.object_value(spot.name));
    let entry = entry.ok_or_else(|| Fault::missing(spot))?;
    for property in entry.properties() {
        let name = property.name().and_then(|name| name.decoded_value().ok()).unwrap_or_default();
        if !wanted.contains_key(&name) {
            property.remove();
        }
    }
    for (key, value) in
        wanted.iter().filter(|(key, value)| document[spot.table][spot.name].get(*key) != Some(*value))
    {
        match entry.get(key) {
            Some(property) => property.set_value(input(value)),
            None => drop(entry.append(key, input(value))),
        }
    }
    Ok(root.to_string())
}

/// Returns `text` without the entry at `spot`.
pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<String, Fault> {
    let root = tree(text)?;
    let entry = table(&root, spot).and_then(|table| table.get(spot.name));
    entry.ok_or_else(|| Fault::missing(spot))?.remove();
    Ok(root.to_string())
}

fn tree(text: &str) -> Result<CstRootNode, Fault> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| syntax(text, &error))
}

fn table(root: &CstRootNode, spot: Spot<'_>) -> Option<CstObject> {
    root.object_value()?.object_value(spot.table)
}

fn input(value: &Value) -> CstInputValue {
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
