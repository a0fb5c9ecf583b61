//! Edits JSON that may have comments and trailing commas, with the syntax tree of `jsonc-parser`.
//!
//! Objects on one line are broken into several where a key is added to them.

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
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

/// Returns the document as JSON; a file of nothing but blanks and comments is an empty object.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, Fault> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS);
    match parsed.map_err(|error| syntax(text, &error))?.value {
        None => Ok(Map::new()),
        Some(Node::Object(object)) => object_to_json(text, &object),
        Some(other) => Err(Fault::at(text, other.start(), "it is not an object")),
    }
}

fn syntax(text: &str, error: &ParseError) -> Fault {
    Fault::at(text, error.range().start, error.kind().to_string().to_lowercase())
}

fn object_to_json(text: &str, object: &Object<'_>) -> Result<Map<String, Value>, Fault> {
    let mut map = Map::new();
    for property in &object.properties {
        let name = property.name.as_str().to_owned();
        if map.contains_key(&name) {
            return Err(Fault::at(text, property.start(), format!("`{name}` is there twice")));
        }
        map.insert(name, to_json(text, &property.value)?);
    }
    Ok(map)
}

fn to_json(text: &str, node: &Node<'_>) -> Result<Value, Fault> {
    Ok(match node {
        Node::Object(object) => Value::Object(object_to_json(text, object)?),
        Node::Array(array) => {
            Value::Array(array.elements.iter().map(|node| to_json(text, node)).collect::<Result<_, _>>()?)
        }
        Node::StringLit(literal) => Value::String(literal.value.to_string()),
        Node::BooleanLit(literal) => Value::Bool(literal.value),
        Node::NullKeyword(_) => Value::Null,
        Node::NumberLit(literal) => serde_json::from_str(literal.value)
            .map_err(|_| Fault::at(text, node.start(), format!("`{}` is not a number", literal.value)))?,
    })
}

/// Returns `text` with `entry` at `spot`, where nothing is yet.
pub(super) fn insert(text: &str, spot: Spot<'_>, entry: &Map<String, Value>) -> Result<String, Fault> {
    let root = tree(text)?;
    let table = root.object_value_or_set().object_value_or_set(spot.table);
    table.append(spot.name, input(&Value::Object(entry.clone())));
    Ok(root.to_string())
}

/// Returns `text` with `value` as the `key` of the entry at `spot`, or without that key.
pub(super) fn change(text: &str, spot: Spot<'_>, key: &str, value: Option<&Value>) -> Result<String, Fault> {
    let root = tree(text)?;
    let entry = table(&root, spot).and_then(|table| table.object_value(spot.name));
    let entry = entry.ok_or_else(|| Fault::missing(spot))?;
    match (entry.get(key), value) {
        (None, None) => {}
        (None, Some(value)) => {
            entry.append(key, input(value));
        }
        (Some(property), None) => property.remove(),
        (Some(property), Some(value)) => property.set_value(input(value)),
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
