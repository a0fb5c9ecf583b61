//! Edits objects of JSON that stand on one line, and keeps them there.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value as AstValue};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::json::{OPTIONS, syntax};
use super::text::EditFault;

/// Returns `text` with `value` at `path`, where nothing is yet, and the number of objects made for it; `None`
/// if the object that it is put into has several lines or comments, or is not there.
pub(super) fn insert(text: &str, path: &[&str], value: &Value) -> Result<Option<(String, usize)>, EditFault> {
    let parsed =
        parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| syntax(text, &error))?;
    let Some(AstValue::Object(root)) = &parsed.value else { return Ok(None) };
    let (mut object, mut depth) = (root, 0);
    while let Some(inner) = path.get(depth).and_then(|key| object.get_object(key)) {
        (object, depth) = (inner, depth + 1);
    }
    let Some((key, below)) = path.get(depth..).and_then(<[&str]>::split_first) else { return Ok(None) };
    if !is_plain_line(text, object) || object.get(key).is_some() {
        return Ok(None);
    }
    let nested = below
        .iter()
        .rev()
        .fold(value.clone(), |value, key| Value::Object(Map::from_iter([((*key).to_owned(), value)])));
    let property = format!("{}: {}", Value::from(*key), spaced(&nested));
    let mut edited = text.to_owned();
    match object.properties.last() {
        Some(last) => edited.insert_str(last.end(), &format!(", {property}")),
        None => edited.insert_str(object.start() + 1, &property),
    }
    Ok(Some((edited, below.len())))
}

/// Returns `text` without the property at `path`; `None` if its object has several lines or comments.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<Option<String>, EditFault> {
    let parsed =
        parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| syntax(text, &error))?;
    let Some(AstValue::Object(root)) = &parsed.value else { return Ok(None) };
    let Some((last, above)) = path.split_last() else { return Ok(None) };
    let Some(object) = above.iter().try_fold(root, |object, key| object.get_object(key)) else {
        return Ok(None);
    };
    let position = object.properties.iter().position(|property| property.name.as_str() == *last);
    let Some(position) = position.filter(|_| is_plain_line(text, object)) else { return Ok(None) };
    let property = &object.properties[position];
    let before = position.checked_sub(1).and_then(|at| object.properties.get(at));
    let range: Range<usize> = match (before, object.properties.get(position + 1)) {
        (Some(before), _) => before.end()..property.end(),
        (None, Some(after)) => property.start()..after.start(),
        (None, None) => property.start()..property.end(),
    };
    let mut edited = text.to_owned();
    edited.replace_range(range, "");
    Ok(Some(edited))
}

/// Returns `true` if `object` stands on one line and has no comments.
fn is_plain_line(text: &str, object: &Object<'_>) -> bool {
    let text = &text[object.start()..object.end()];
    !text.contains('\n') && !text.contains("/*")
}

/// Returns `value` with blanks behind colons.
pub(super) fn spaced(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let properties =
                map.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)));
            format!("{{{}}}", properties.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}
