//! Edits TOML with `toml_edit`: the entry is a table with a heading of its own.
//!
//! A table that is removed takes the comments above it along.

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table};

use super::text::{Fault, Spot, newline};

/// Returns the document as JSON.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, Fault> {
    let table: toml::Table =
        toml::from_str(text).map_err(|error| fault(text, error.message(), error.span()))?;
    match serde_json::to_value(table) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(Fault::of("it holds what JSON cannot say")),
    }
}

fn document(text: &str) -> Result<DocumentMut, Fault> {
    text.parse().map_err(|error: toml_edit::TomlError| fault(text, error.message(), error.span()))
}

fn fault(text: &str, message: &str, span: Option<std::ops::Range<usize>>) -> Fault {
    let message = message.lines().next().unwrap_or("it is not TOML").to_lowercase();
    match span {
        Some(span) => Fault::at(text, span.start, message),
        None => Fault::of(message),
    }
}

fn not_editable(spot: Spot<'_>) -> Fault {
    Fault::of(format!("`{}` is written in a way that is not edited for you", spot.table))
}

/// Returns `text` with `entry` at `spot`, where nothing is yet.
pub(super) fn insert(text: &str, spot: Spot<'_>, entry: &Map<String, Value>) -> Result<String, Fault> {
    let mut document = document(text)?;
    let servers = document.entry(spot.table).or_insert_with(implicit_table);
    let servers = servers.as_table_mut().filter(|table| !table.is_dotted());
    let servers = servers.ok_or_else(|| not_editable(spot))?;
    let mut table = Table::new();
    for (key, value) in entry {
        table.insert(key, converted(value)?);
    }
    servers.insert(spot.name, Item::Table(table));
    Ok(written(text, &document))
}

/// Returns `text` with just the keys of `wanted` in the entry at `spot`; those that are right already stay as they are written.
pub(super) fn change(text: &str, spot: Spot<'_>, wanted: &Map<String, Value>) -> Result<String, Fault> {
    let before = parse(text)?;
    let mut document = document(text)?;
    let entry = document.get_mut(spot.table).and_then(Item::as_table_mut);
    let entry = entry.and_then(|table| table.get_mut(spot.name)).and_then(Item::as_table_mut);
    let entry = entry.ok_or_else(|| not_editable(spot))?;
    entry.retain(|key, _| wanted.contains_key(key));
    for (key, value) in
        wanted.iter().filter(|(key, value)| before[spot.table][spot.name].get(*key) != Some(*value))
    {
        let mut item = converted(value)?;
        // A comment behind the value stays.
        if let (Some(old), Some(new)) = (entry.get(key).and_then(Item::as_value), item.as_value_mut()) {
            *new.decor_mut() = old.decor().clone();
        }
        entry.insert(key, item);
    }
    Ok(written(text, &document))
}

/// Returns `text` without the entry at `spot` and the tables in it.
pub(super) fn remove(text: &str, spot: Spot<'_>) -> Result<String, Fault> {
    let mut document = document(text)?;
    let servers = document.get_mut(spot.table).and_then(Item::as_table_mut);
    let servers = servers.ok_or_else(|| not_editable(spot))?;
    servers.remove(spot.name).ok_or_else(|| Fault::missing(spot))?;
    Ok(written(text, &document))
}

fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn converted(value: &Value) -> Result<Item, Fault> {
    let value = toml::Value::try_from(value).map_err(|_| Fault::of("TOML cannot say this"))?;
    let value = value.to_string().parse::<toml_edit::Value>();
    value.map(Item::Value).map_err(|error| Fault::of(error.message()))
}

/// Returns the text of `document` with the line ends of `text`; `toml_edit` writes those of Unix.
fn written(text: &str, document: &DocumentMut) -> String {
    document.to_string().replace("\r\n", "\n").replace('\n', newline(text))
}
