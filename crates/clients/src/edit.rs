//! Edits one entry of a client's configuration file in any format, and keeps all else, comments included.
//!
//! The result is parsed again and must mean exactly what was wanted; otherwise nothing is written.

mod json;
mod list;
mod one_line;
mod text;
mod toml;
mod toml_list;
mod value;
mod yaml;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub(crate) use self::list::edit_list;
pub use self::text::EditFault;
pub(crate) use self::text::Spot;
use self::text::split_bom;
pub(crate) use self::toml::{implicit_table, toml_text};
pub(crate) use self::toml_list::{has_table, push_table, remove_table};
pub(crate) use self::value::{ValueEdit, restore_value, set_value};
use crate::client::Format;

/// Returns the document as JSON.
pub(crate) fn parse(format: Format, text: &str) -> Result<Map<String, Value>, EditFault> {
    let (_, text) = split_bom(text);
    match format {
        Format::Json => json::parse(text),
        Format::Toml => toml::parse(text),
        Format::Yaml => yaml::parse(text),
    }
}

/// Returns the entry at `spot`, if `text` has one.
pub(crate) fn read(format: Format, text: &str, spot: Spot<'_>) -> Result<Option<Value>, EditFault> {
    let document = parse(format, text)?;
    Ok(table(&document, spot.table).and_then(|table| table.get(spot.name)).cloned())
}

/// Returns the table of servers of `document`, whose keys stand at `path` with `/` between them.
pub(crate) fn table<'a>(document: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('/');
    let outer = document.get(keys.next()?)?;
    keys.try_fold(outer, |table, key| table.get(key))
}

/// Returns `text` with the keys of `entry` at `spot`, and without those of `obsolete`; other keys stay.
pub(crate) fn write(
    format: Format,
    text: &str,
    spot: Spot<'_>,
    entry: &Map<String, Value>,
    obsolete: &[&str],
) -> Result<String, EditFault> {
    let (bom, body) = split_bom(text);
    let mut expect = parse(format, body)?;
    let mut table = &mut expect;
    for key in spot.table.split('/') {
        let inner = table.entry(key).or_insert(Value::Null);
        if inner.is_null() {
            *inner = Value::Object(Map::new());
        }
        let inner = inner.as_object_mut();
        table = inner.ok_or_else(|| EditFault::of(format!("`{key}` is not a table of servers")))?;
    }
    let existing = match table.remove(spot.name) {
        None => None,
        Some(Value::Object(existing)) => Some(existing),
        Some(_) => {
            return Err(EditFault::of(format!("`{}.{}` is not a table of settings", spot.table, spot.name)));
        }
    };
    let mut wanted = existing.clone().unwrap_or_default();
    wanted.retain(|key, _| entry.contains_key(key) || !obsolete.contains(&key.as_str()));
    wanted.extend(entry.clone());
    let after = if existing.as_ref() == Some(&wanted) {
        body.to_owned()
    } else {
        set(format, body, spot, existing.as_ref(), Some(&wanted))?
    };
    table.insert(spot.name.to_owned(), Value::Object(wanted));
    verified(format, bom, after, &expect, spot)
}

/// Returns `text` without the entry at `spot`, which has to be there.
pub(crate) fn remove(format: Format, text: &str, spot: Spot<'_>) -> Result<String, EditFault> {
    let (bom, body) = split_bom(text);
    let mut expect = parse(format, body)?;
    let mut table = Some(&mut expect);
    for key in spot.table.split('/') {
        table = table.and_then(|table| table.get_mut(key)).and_then(Value::as_object_mut);
    }
    table.map(|table| table.remove(spot.name));
    let after = set(format, body, spot, None, None)?;
    verified(format, bom, after, &expect, spot)
}

/// Returns `text` with just the keys of `wanted` in the entry at `spot`, which has the keys of `existing` if
/// it is there; without the entry if nothing is wanted. Keys that have the wanted value keep their text,
/// except in YAML.
fn set(
    format: Format,
    text: &str,
    spot: Spot<'_>,
    existing: Option<&Map<String, Value>>,
    wanted: Option<&Map<String, Value>>,
) -> Result<String, EditFault> {
    match format {
        Format::Json => json::set(text, spot, existing, wanted),
        Format::Toml => toml::set(text, spot, existing, wanted),
        Format::Yaml => yaml::set(text, spot, existing, wanted),
    }
}

/// Returns `after` if it means `expect`; an empty table counts as a missing one.
fn verified(
    format: Format,
    bom: &str,
    after: String,
    expect: &Map<String, Value>,
    spot: Spot<'_>,
) -> Result<String, EditFault> {
    let without_empty = |document: &Map<String, Value>| {
        let mut document = document.clone();
        if document.get(spot.table).and_then(Value::as_object).is_some_and(Map::is_empty) {
            document.remove(spot.table);
        }
        document
    };
    match parse(format, &after) {
        Ok(found) if without_empty(&found) == without_empty(expect) => Ok(format!("{bom}{after}")),
        _ => Err(EditFault::of("it is written in a way that is not edited for you")),
    }
}
